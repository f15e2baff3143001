#!/bin/sh
# Format and lint: lint.sh BUILD_DIR. clang-format over all sources, clang-tidy over what BUILD_DIR compiles.
set -eu
cd "$(dirname "$0")/.."
build=$1
find src include tests bench \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 clang-format --dry-run -Werror
[ -f "$build/compile_commands.json" ] || { echo "[lint] $build is not configured; make build first" >&2; exit 1; }
run-clang-tidy -quiet -p "$build" "$PWD/src/.*\.cpp$"
