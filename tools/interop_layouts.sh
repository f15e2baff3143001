#!/usr/bin/env bash
# Checks that other tools load the directories of `slipway export --layout`: interop_layouts.sh [TOOL ...].
# TOOL is genai, optimum, transformers.js or openvino-genai; each gets its own environment once, in .venvs.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=build/release/bin/slipway
[ -x "$tool" ] || { echo "interop: $tool is missing; run make build first" >&2; exit 5; }
[ $# -gt 0 ] || set -- genai optimum transformers.js openvino-genai

genai="onnxruntime-genai==0.18.0 onnxruntime==1.32.0 numpy==2.4.6"
optimum="optimum-onnx==0.1.0 optimum==2.1.0 transformers==4.57.6 torch==2.12.0 onnx==1.23.2 onnxruntime==1.32.0"
openvino="openvino==2026.4.1 openvino-genai==2026.4.1.0 openvino-tokenizers==2026.4.1.0 optimum-intel==2.2.0 optimum==2.3.0 transformers==4.57.6 tokenizers==0.22.2 torch==2.12.0 sentencepiece==0.2.3 safetensors==0.8.0 numpy==2.4.6"
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

onnx=()
for name in "$@"; do
  case "$name" in
    genai) python_environment genai "$genai" ;;
    optimum) python_environment optimum "$optimum" ;;
    transformers.js) javascript_environment ;;
    openvino-genai) python_environment openvino-genai "$openvino" ;;
    *) echo "usage: interop_layouts.sh [genai] [optimum] [transformers.js] [openvino-genai]" >&2; exit 2 ;;
  esac
  [ "$name" = openvino-genai ] || onnx+=("$name")
done
status=0
if [ ${#onnx[@]} -gt 0 ]; then
  python3 tests/interop/layouts.py "$tool" .venvs "${onnx[@]}" || status=1
fi
if [ ${#onnx[@]} -lt $# ]; then
  .venvs/openvino-genai/bin/python tests/interop/openvino_layout.py "$tool" || status=1
fi
exit $status
