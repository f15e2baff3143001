#!/bin/sh
# Exports two real models to ONNX, chats with one and embeds sentences with the other: demo.sh.
# `make demo` builds the tool and fetches the models first.
set -eu
cd "$(dirname "$0")/.."

tool=build/release/bin/slipway
models=.deps/models
out=build/demo
for needed in "$tool" "$models/smollm2" "$models/minilm"; do
  [ -e "$needed" ] || { echo "[demo] $needed is missing: run \`make demo\`" >&2; exit 5; }
done
mkdir -p "$out"
gguf=$(find "$models/smollm2" -name '*.gguf' | sort | head -n 1)

step() { printf '\n== %s\n' "$1"; }

step "1. Export SmolLM2-135M-Instruct (GGUF, 4 bits) to ONNX in float32"
"$tool" export "$gguf" "$out/smollm2"

step "2. Export all-MiniLM-L6-v2 (safetensors) to ONNX"
"$tool" export "$models/minilm" "$out/minilm" --task feature-extraction

step "3. Chat: What is gravity?"
"$tool" generate "$out/smollm2" --chat "What is gravity?" --max-new-tokens 80 -v

step "4. How alike are these sentences? (cosine of their embeddings)"
python3 tools/similarity.py "$tool" "$out/minilm" \
  "The cat sits on the mat." \
  "A kitten is resting on a rug." \
  "Stock markets fell sharply today." \
  "Shares lost much of their value this morning." \
  "How do I bake bread?"

step "Done"
echo "The exports are in $out. Try:"
echo "  $tool inspect $out/smollm2"
echo "  $tool generate $out/smollm2 --chat \"Tell me a joke.\""
