#!/usr/bin/env python3
"""Packs the reference's .pt2 exports for the tests: pack_reference.py EXPORTS GOLDEN OUT.tar.xz

EXPORTS has <case>/dynamo/{model.pt2,export.json,config.json}, or the same without the folder dynamo, made by
transformers' AutoExporter with {"export_format": "dynamo", "dynamic": true} from the golden cases' models and
inputs; GOLDEN has the cases' inputs.safetensors and outputs.safetensors. reference.tar.xz has the text models,
more.tar.xz those that see and hear; a case that the reference could not trace has no model.pt2 and is left out. Where the trace ran on somebody's machine is blanked, in place: the rest of
an archive is as torch wrote it. Equal files give equal bytes.
"""
import io
import lzma
import pathlib
import re
import struct
import sys
import tarfile
import zipfile
import zlib

FILES = [("model.pt2", 0), ("export.json", 0), ("config.json", 0), ("inputs.safetensors", 1), ("outputs.safetensors", 1)]


def without_traces(data):
    """A .pt2 whose stack traces are spaces, with the checksum of the changed entry put right."""
    data = bytearray(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        info = next(info for info in archive.infolist() if info.filename.endswith("/models/model.json"))
    assert info.compress_type == zipfile.ZIP_STORED
    name_size, extra_size = struct.unpack_from("<HH", data, info.header_offset + 26)
    begin = info.header_offset + 30 + name_size + extra_size
    end = begin + info.file_size
    data[begin:end] = re.sub(rb'("stack_trace": ")((?:[^"\\]|\\.)*)"',
                             lambda found: found[1] + b" " * len(found[2]) + b'"', bytes(data[begin:end]))
    old, new = struct.pack("<I", info.CRC), struct.pack("<I", zlib.crc32(data[begin:end]))
    places = [info.header_offset + 14]
    if info.flag_bits & 8:  # sizes and checksum follow the contents
        places.append(end + 4 if data[end:end + 4] == b"PK\x07\x08" else end)
    name = info.filename.encode()
    central = data.rindex(name) - 46
    assert data[central:central + 4] == b"PK\x01\x02"
    places.append(central + 16)
    for place in places:
        assert data[place:place + 4] in (old, bytes(4)), place
        if data[place:place + 4] == old:
            data[place:place + 4] = new
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
    return bytes(data)


def main():
    roots = [pathlib.Path(argument) for argument in sys.argv[1:3]]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for case in sorted(path.name for path in roots[0].iterdir()):
            exported = roots[0] / case / "dynamo" if (roots[0] / case / "dynamo").exists() else roots[0] / case
            if not (exported / "model.pt2").exists():
                continue
            for name, root in FILES:
                data = ((roots[1] / case if root else exported) / name).read_bytes()
                if name.endswith(".pt2"):
                    data = without_traces(data)
                info = tarfile.TarInfo(f"{case}/{name}")
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 128 << 20}]
    pathlib.Path(sys.argv[3]).write_bytes(lzma.compress(buffer.getvalue(), filters=filters))


if __name__ == "__main__":
    main()
