#!/bin/sh
# Every benchmark beside its limit: run.sh. `make bench` builds the tool and fetches the models first.
set -eu
cd "$(dirname "$0")/.."

tool=build/release/bin/slipway
gguf=$(find .deps/models/smollm2 -name '*.gguf' | sort | head -n 1)
failed=0
for format in onnx dynamo openvino; do
  python3 bench/export_time.py "$tool" "$gguf" --format $format || failed=1
done

packages="transformers==5.23.0 torch==2.12.0 onnx==1.23.2 onnxruntime==1.32.0 onnxscript==0.7.2 accelerate==1.15.0
safetensors==0.8.0 gguf==0.19.0 onnxruntime-genai==0.18.0 openvino==2026.4.1 openvino-genai==2026.4.1.0"
venv=.venvs/bench
if [ "$(cat "$venv/.installed" 2>/dev/null)" != "$packages" ]; then
  echo "bench: installing the peers (once)"
  rm -rf "$venv"
  python3 -c 'import ensurepip' 2>/dev/null || tools/bootstrap.sh venv
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check uv
  # shellcheck disable=SC2086  # a list of words
  "$venv/bin/uv" pip install -q --python "$venv/bin/python" $packages
  echo "$packages" > "$venv/.installed"
fi
python3 bench/decode.py "$tool" "$gguf" "$venv/bin/python" || failed=1
python3 bench/dynamo.py "$tool" "$gguf" "$venv/bin/python" || failed=1
python3 bench/openvino_speed.py "$tool" "$gguf" "$venv/bin/python" || failed=1

reference=build/executorch_reference
runtime=.venvs/bench-executorch
if [ ! -f "$reference/decode.pte" ] && [ ! -f "$runtime/.installed" ]; then
  echo "bench: installing the reference's ExecuTorch (once)"
  python3 -m venv "$runtime"
  "$venv/bin/uv" pip install -q --python "$runtime/bin/python" torch==2.13.0 executorch==1.5.1 transformers==5.23.0 \
    accelerate==1.15.0 safetensors==0.8.0 gguf==0.19.0
  touch "$runtime/.installed"
fi
python3 bench/executorch_speed.py "$tool" build/release/bin/executorch_decode "$gguf" \
  --reference "$reference" --python "$runtime/bin/python" || failed=1
exit $failed
