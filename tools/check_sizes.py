#!/usr/bin/env python3
"""Prints the ten longest source files and fails above the limit of lines: check_sizes.py ROOT."""
import pathlib
import sys

FOLDERS = ("src", "include", "rust", "tools", "tests", "bench", "python")
SUFFIXES = {".h", ".cpp", ".inc", ".rs", ".py", ".sh", ".test", ".cmake"}
LIMIT, TABLE_LIMIT = 400, 600


def main():
    root = pathlib.Path(sys.argv[1])
    sizes = []
    for folder in FOLDERS:
        for path in (root / folder).rglob("*"):
            if path.is_file() and path.suffix in SUFFIXES and "target" not in path.parts:
                lines = path.read_bytes().count(b"\n")
                limit = TABLE_LIMIT if "_table." in path.name else LIMIT
                sizes.append((lines, limit, path.relative_to(root).as_posix()))
    sizes.sort(key=lambda row: (-row[0], row[2]))
    for lines, limit, name in sizes[:10]:
        print(f"{lines:5} {name}")
    too_long = [row for row in sizes if row[0] > row[1]]
    for lines, limit, name in too_long:
        print(f"[check_sizes] {name} has {lines} lines, the limit is {limit}; split it by idea")
    if not sizes:
        sys.exit(f"[check_sizes] {root} has no sources")
    sys.exit(1 if too_long else 0)


if __name__ == "__main__":
    main()
