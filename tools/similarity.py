#!/usr/bin/env python3
"""Prints how alike sentences are: similarity.py TOOL EXPORT SENTENCE... (used by tools/demo.sh)."""
import json
import resource
import subprocess
import sys
import time


def main():
    tool, export, sentences = sys.argv[1], sys.argv[2], sys.argv[3:]
    command = [tool, "embed", export, "--normalize", "--json"]
    for sentence in sentences:
        command += ["--text", sentence]
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(done.returncode)
    vectors = json.loads(done.stdout)["embeddings"]
    for number, sentence in enumerate(sentences, 1):
        print(f"  {number}  {sentence}")
    print("\n     " + "".join(f"{number:7d}" for number in range(1, len(vectors) + 1)))
    for number, a in enumerate(vectors, 1):
        row = "".join(f"{sum(x * y for x, y in zip(a, b)):7.2f}" for b in vectors)
        print(f"  {number:3d}{row}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\n{len(vectors)} vectors of {len(vectors[0])} in {seconds:.2f} s, loading included; "
          f"{peak:.0f} MB of memory with the mapped weights")


if __name__ == "__main__":
    main()
