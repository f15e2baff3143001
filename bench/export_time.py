#!/usr/bin/env python3
"""Time and memory of exporting beside writing the same bytes to the same disk.

export_time.py TOOL CHECKPOINT [--format dynamo] [--runs N]   exits with 1 when a limit is passed.
Limits: the whole process takes at most 2 times the writing plus 0.5 s; at most 150 MB of anonymous memory.
"""
import argparse
import pathlib
import shutil
import statistics
import sys
import tempfile

import measure

FACTOR, SECONDS, MEMORY = 2.0, 0.5, 150e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("checkpoint")
    parser.add_argument("--format", default="onnx")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", default="build", help="where to write, on the disk to measure")
    options = parser.parse_args()
    exports, writes, peaks, size = [], [], [], 0
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as scratch:
        scratch = pathlib.Path(scratch)
        # The first run also reads the checkpoint from the disk: it is not counted.
        for number in range(options.runs + 1):
            seconds, peak, _ = measure.run([options.tool, "export", options.checkpoint, str(scratch / "out"),
                                            "--format", options.format, "--no-validate", "--quiet"])
            size = measure.folder_bytes(scratch / "out")
            shutil.rmtree(scratch / "out")
            write = measure.write_seconds(scratch / "plain", size)
            if number > 0:
                exports.append(seconds)
                writes.append(write)
                peaks.append(peak)
    export, write, peak = statistics.median(exports), statistics.median(writes), max(peaks)
    limit = FACTOR * write + SECONDS
    print(f"exporting {pathlib.Path(options.checkpoint).name} to {options.format}: {size / 1e6:.0f} MB, median of {options.runs} runs")
    print(f"  export             {export:8.2f} s    limit {limit:.2f} s (2 x writing + 0.5 s)")
    print(f"  writing the same   {write:8.2f} s    ratio {export / write:.2f}")
    print(f"  anonymous memory   {peak / 1e6:8.1f} MB   limit {MEMORY / 1e6:.0f} MB")
    good = export <= limit and peak <= MEMORY
    print("  within both limits" if good else "  BEYOND A LIMIT")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
