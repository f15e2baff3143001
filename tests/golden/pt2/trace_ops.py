#!/usr/bin/env python3
"""Counts the ops of all the reference's traces: trace_ops.py ARCHIVE.tar.xz... > trace_ops.json

The archives are those that pack_reference.py makes. Sub-graphs count too.
"""
import collections
import io
import json
import sys
import tarfile
import zipfile


def count(graph, counts):
    for node in graph["nodes"]:
        counts[node["target"]] += 1
        for given in node["inputs"]:
            if inner := (given["arg"].get("as_graph") or {}).get("graph"):
                count(inner, counts)


def main():
    counts = collections.Counter()
    for path in sys.argv[1:]:
        with tarfile.open(path) as tar:
            for member in tar:
                if not member.name.endswith("/model.pt2"):
                    continue
                with zipfile.ZipFile(io.BytesIO(tar.extractfile(member).read())) as archive:
                    entry = next(name for name in archive.namelist() if name.endswith("/models/model.json"))
                    count(json.loads(archive.read(entry))["graph_module"]["graph"], counts)
    json.dump(counts, sys.stdout, indent=2, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
