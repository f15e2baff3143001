#!/usr/bin/env python3
"""Packs the reference's .pt2 exports for the tests: pack_reference.py EXPORTS GOLDEN OUT.tar.xz

EXPORTS has <case>/dynamo/{model.pt2,export.json,config.json}, made by transformers' AutoExporter with
{"export_format": "dynamo", "dynamic": true} from the golden cases' models and inputs; GOLDEN has the cases'
inputs.safetensors and outputs.safetensors. Equal files give equal bytes.
"""
import io
import lzma
import pathlib
import sys
import tarfile

FILES = [("dynamo/model.pt2", 0), ("dynamo/export.json", 0), ("dynamo/config.json", 0),
         ("inputs.safetensors", 1), ("outputs.safetensors", 1)]


def main():
    roots = [pathlib.Path(argument) for argument in sys.argv[1:3]]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for case in sorted(path.name for path in roots[0].iterdir()):
            for name, root in FILES:
                data = (roots[root] / case / name).read_bytes()
                info = tarfile.TarInfo(f"{case}/{pathlib.PurePosixPath(name).name}")
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 128 << 20}]
    pathlib.Path(sys.argv[3]).write_bytes(lzma.compress(buffer.getvalue(), filters=filters))


if __name__ == "__main__":
    main()
