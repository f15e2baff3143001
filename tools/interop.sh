#!/usr/bin/env bash
# Checks against the Python reference: makes its environment once, then runs tests/interop.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=build/release/bin/slipway
venv=.venvs/reference
stamp=$venv/.installed
packages="transformers==5.23.0 torch==2.12.0 onnx==1.23.2 onnxruntime==1.32.0 onnxscript==0.7.2 accelerate==1.15.0 safetensors==0.8.0
  openvino==2026.4.1"

[ -x "$tool" ] || { echo "interop: $tool is missing; run make build first" >&2; exit 5; }
if [ "$(cat "$stamp" 2>/dev/null)" != "$packages" ]; then
  echo "interop: installing the reference (once)"
  rm -rf "$venv"
  python3 -c 'import ensurepip' 2>/dev/null || tools/bootstrap.sh venv
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check uv
  # shellcheck disable=SC2086
  "$venv/bin/uv" pip install -q --python "$venv/bin/python" $packages
  echo "$packages" > "$stamp"
fi
"$venv/bin/python" tests/interop/run.py "$tool"
"$venv/bin/python" tests/interop/generation.py "$tool"
"$venv/bin/python" tests/interop/dynamo.py "$tool"
"$venv/bin/python" tests/interop/openvino_reference.py "$tool"

cmake --build build/release --target core_tests > /dev/null
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
SLIPWAY_OPENVINO_CASES=$cases build/release/bin/core_tests --gtest_filter=OpenVINOOps.EveryCaseLowers > /dev/null
"$venv/bin/python" tests/interop/openvino_ops.py "$cases"
"$venv/bin/python" tests/interop/openvino_ir.py "$tool"
"$venv/bin/python" tests/interop/openvino_traced.py "$tool"

runtime=.venvs/executorch
stamp=$runtime/.installed
# Its own requirements name much that loading and running a program does not need.
packages="torch==2.13.0 numpy flatbuffers ruamel.yaml tabulate typing-extensions packaging sympy mpmath==1.3.0 pandas
  transformers==5.23.0 accelerate==1.15.0 safetensors==0.8.0"
alone="executorch==1.5.1 torchao==0.18.0 pytorch-tokenizers==1.5.0"
if [ "$(cat "$stamp" 2>/dev/null)" != "$packages $alone" ]; then
  echo "interop: installing ExecuTorch (once)"
  rm -rf "$runtime"
  python3 -m venv "$runtime"
  # shellcheck disable=SC2086
  "$venv/bin/uv" pip install -q --python "$runtime/bin/python" $packages
  # shellcheck disable=SC2086
  "$venv/bin/uv" pip install -q --no-deps --python "$runtime/bin/python" $alone
  echo "$packages $alone" > "$stamp"
fi
programs=$(mktemp -d)
trap 'rm -rf "$cases" "$programs"' EXIT
SLIPWAY_PTE_OUT=$programs build/release/bin/core_tests --gtest_filter=ExecutorchWrite.SameProgramSameBytes > /dev/null
"$runtime/bin/python" tests/interop/executorch_programs.py "$programs"
mkdir "$cases/ops" "$cases/models" "$cases/programs"
SLIPWAY_EXECUTORCH_CASES=$cases/ops build/release/bin/core_tests --gtest_filter=ExecutorchOps.* > /dev/null
"$runtime/bin/python" tests/interop/executorch_ops.py "$cases/ops"
for archive in tests/golden/pt2/{reference,more}.tar.xz; do tar xJf "$archive" -C "$cases/programs"; done
SLIPWAY_EXECUTORCH_MODELS=$cases/models SLIPWAY_EXECUTORCH_PROGRAMS=$cases/programs \
  build/release/bin/core_tests --gtest_filter=ExecutorchModels.* > /dev/null
"$runtime/bin/python" tests/interop/executorch_models.py "$cases/models" "$cases/programs"
"$runtime/bin/python" tests/interop/executorch_reference.py "$tool"
"$runtime/bin/python" tests/interop/executorch_llm.py "$tool"
"$runtime/bin/python" tests/interop/executorch_llm_others.py "$tool"
"$runtime/bin/python" tests/interop/executorch_reference_generate.py "$tool"
mkdir "$cases/quantized"
tar xJf tests/golden/pt2/quantized.tar.xz -C "$cases/quantized"
"$runtime/bin/python" tests/interop/executorch_quantized.py "$tool" "$cases/quantized"
