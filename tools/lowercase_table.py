#!/usr/bin/env python3
"""Prints src/backends/openvino/lowercase_table.h from what the library tokenizers makes of every character: lowercase_table.py."""

from tokenizers import normalizers


def rows():
    """(first, last, step, delta) of runs of characters that change by the same number."""
    lower = normalizers.Lowercase().normalize_str
    found = []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        text = lower(chr(code))
        if text == chr(code) or len(text) != 1:
            continue
        delta = ord(text) - code
        if found and found[-1][3] == delta:
            first, last, step, _ = found[-1]
            if code - last <= 2 and (first == last or step == code - last):
                found[-1] = (first, code, code - last, delta)
                continue
        found.append((code, code, 1, delta))
    return found


def main():
    several = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and len(normalizers.Lowercase().normalize_str(chr(code))) > 1]
    print("// Made by tools/lowercase_table.py: characters with a lower case, as runs that change by one number.")
    print("#pragma once\n\n#include <cstdint>\n")
    print("namespace slipway::openvino {\n")
    print("struct LowercaseRun {\n  uint32_t first, last, step;\n  int32_t delta;\n};\n")
    print("inline constexpr LowercaseRun kLowercase[] = {")
    line = "   "
    for first, last, step, delta in rows():
        item = f" {{0x{first:X}, 0x{last:X}, {step}, {delta}}},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};\n")
    assert several == [0x130], several
    print("/// The one whose lower case is two characters: a dotted I.")
    print('inline constexpr uint32_t kDottedI = 0x130;\ninline constexpr const char* kDottedILower = "i\\u0307";\n')
    print("}  // namespace slipway::openvino")


main()
