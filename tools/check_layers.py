#!/usr/bin/env python3
"""Checks that every #include obeys the layers of docs/architecture.md: check_layers.py ROOT.

A file includes only from lower layers or from its own folder. Tests may include anything.
"""
import pathlib
import re
import sys

BASE_HEADERS = {"slipway/error.h", "slipway/dtype.h", "slipway/tensor.h", "slipway/delegation.h",
                "slipway/generation_config.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

# First match wins: (pattern of the path below src/ or include/, layer, group). Files of one layer may
# include each other only within a group; \1 in a group is what the pattern's first parentheses matched.
LAYERS = [
    (r"base/", 0, "base"),
    (r"ir/", 1, "ir"),
    (r"checkpoint/", 1, "checkpoint"),
    (r"models/", 2, "models"),
    (r"passes/", 2, "passes"),
    (r"quantize/", 3, "quantize"),
    (r"lowering/", 3, "lowering"),
    (r"backends/([^/]+)/runner", 5, r"runner of \1"),
    (r"backends/([^/]+)/", 4, r"backend \1"),
    (r"runtime/", 5, "runtime"),
    (r"generation/", 6, "generation"),
    (r"(slipway|export)/", 7, "export"),
    (r"(cli|python)/", 8, r"\1"),
]
# A runner shares with the compiler only the files on disk; it sees the plug-in's C interface of the runtime.
ALSO = {("runner", "runtime")}
# libtorch has no reader of .pt2 files: that runner contains ours.
# ExecuTorch trusts its files in places: that runner checks them first.
READS_OWN_FORMAT = {"runner of dynamo": "backend dynamo", "runner of executorch": "backend executorch"}


def place(path):
    """The layer and group of a path as it is written in an #include, or None for other people's headers."""
    if path in BASE_HEADERS:
        return 0, "base"
    for pattern, layer, group in LAYERS:
        if match := re.match(pattern, path):
            return layer, match.expand(group)
    return None


def allowed(own, other):
    if own[1].startswith("runner") and other[1].startswith("backend"):
        return READS_OWN_FORMAT.get(own[1]) == other[1]
    same_group = own == other or (own[1].split()[0], other[1]) in ALSO
    return other[0] < own[0] or same_group


def main():
    root = pathlib.Path(sys.argv[1])
    violations, checked = [], 0
    for top in ("src", "include"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".inc") or path.stem.endswith("_test"):
                continue
            own = place(path.relative_to(root / top).as_posix())
            checked += 1
            if own is None:
                violations.append(f"{path.relative_to(root)}: is in no layer's folder")
                continue
            text = path.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                other = place(match[1])
                if other is not None and not allowed(own, other):
                    line = text.count("\n", 0, match.start(1)) + 1
                    violations.append(f"{path.relative_to(root)}:{line}: layer {own[0]} ({own[1]}) includes "
                                      f"{match[1]} of layer {other[0]} ({other[1]})")
    for violation in violations:
        print(violation)
    print(f"[check_layers] {checked} files, {len(violations)} violations")
    if checked == 0:
        sys.exit(f"[check_layers] {root} has no sources")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
