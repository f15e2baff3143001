#!/bin/sh
# Installs the Debian packages that the build needs: bootstrap.sh [test|venv]. Does nothing when all are there.
# Versions are pinned by the suite: Debian 12 (bookworm) never changes a package's upstream version.
set -eu

packages="cmake ninja-build ccache pkg-config protobuf-compiler libprotobuf-dev nlohmann-json3-dev
  libcli11-dev libfmt-dev libspdlog-dev libgtest-dev libbenchmark-dev libdeflate-dev libpugixml-dev
  libflatbuffers-dev flatbuffers-compiler libxxhash-dev"
case "${1:-build}" in
  build) ;;
  test) packages="$packages clang clang-format clang-tidy libclang-rt-14-dev" ;;
  venv) packages="python3-venv" ;;
  *) echo "usage: bootstrap.sh [test|venv]" >&2; exit 2 ;;
esac

# libtorch comes from a Maven repository: by mvn, which knows the machine's, or from the one that is named.
if [ "${1:-build}" != venv ] && ! command -v mvn >/dev/null && [ -z "${SLIPWAY_MAVEN:-}" ]; then
  packages="$packages maven"
fi

for tool in g++ cargo python3; do
  command -v "$tool" >/dev/null || { echo "[bootstrap] $tool is missing: install it first" >&2; exit 5; }
done
if ! command -v dpkg-query >/dev/null; then
  echo "[bootstrap] this system has no dpkg: install what is listed in tools/bootstrap.sh yourself" >&2
  exit 5
fi

missing=""
for package in $packages; do
  state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$state" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  run=""
elif command -v sudo >/dev/null; then
  run="sudo"
else
  echo "[bootstrap] these packages are missing:$missing" >&2
  echo "[bootstrap] installing them needs root or sudo, and neither is there" >&2
  exit 5
fi

echo "[bootstrap] installing:$missing"
$run env DEBIAN_FRONTEND=noninteractive apt-get -q update
# shellcheck disable=SC2086  # a list of words
$run env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
