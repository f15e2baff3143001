#!/usr/bin/env bash
# Checks that other tools load the directories of `slipway export --layout`: interop_layouts.sh [TOOL ...].
# TOOL is genai, optimum or transformers.js; each gets its own environment once, in .venvs.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=build/release/bin/slipway
[ -x "$tool" ] || { echo "interop: $tool is missing; run make build first" >&2; exit 5; }
[ $# -gt 0 ] || set -- genai optimum transformers.js

genai="onnxruntime-genai==0.18.0 onnxruntime==1.32.0 numpy==2.4.6"
optimum="optimum-onnx==0.1.0 optimum==2.1.0 transformers==4.57.6 torch==2.12.0 onnx==1.23.2 onnxruntime==1.32.0"
javascript="@huggingface/transformers@4.3.2"

fail() { echo "interop: $*" >&2; exit 5; }

# python_environment NAME PACKAGES: a virtual environment .venvs/NAME with exactly these.
python_environment() {
  local venv=.venvs/$1 packages=$2
  [ "$(cat "$venv/.installed" 2>/dev/null)" != "$packages" ] || return 0
  echo "interop: installing $1 (once)"
  rm -rf "$venv"
  python3 -c 'import ensurepip' 2>/dev/null || tools/bootstrap.sh venv
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check uv || fail "cannot install uv for $1"
  # shellcheck disable=SC2086  # a list of words
  "$venv/bin/uv" pip install -q --python "$venv/bin/python" $packages || fail "cannot install $packages"
  echo "$packages" > "$venv/.installed"
}

javascript_environment() {
  local folder=.venvs/js
  command -v node >/dev/null || fail "transformers.js needs Node 20 or later, and there is no node"
  command -v npm >/dev/null || fail "transformers.js is installed with npm, and there is no npm"
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 20 ] || fail "transformers.js needs Node 20 or later, this is $(node --version)"
  [ "$(cat "$folder/.installed" 2>/dev/null)" != "$javascript" ] || return 0
  echo "interop: installing transformers.js (once)"
  rm -rf "$folder"
  mkdir -p "$folder"
  # Scripts of packages are not run: the runtime's library for this system is in its package.
  npm install --prefix "$folder" --ignore-scripts --no-package-lock --no-audit --no-fund --silent "$javascript" ||
    fail "cannot install $javascript"
  echo "$javascript" > "$folder/.installed"
}

for name in "$@"; do
  case "$name" in
    genai) python_environment genai "$genai" ;;
    optimum) python_environment optimum "$optimum" ;;
    transformers.js) javascript_environment ;;
    *) echo "usage: interop_layouts.sh [genai] [optimum] [transformers.js]" >&2; exit 2 ;;
  esac
done
exec python3 tests/interop/layouts.py "$tool" .venvs "$@"
