#!/bin/sh
# Every benchmark beside its limit: run.sh. `make bench` builds the tool and fetches the models first.
set -eu
cd "$(dirname "$0")/.."

tool=build/release/bin/slipway
gguf=$(find .deps/models/smollm2 -name '*.gguf' | sort | head -n 1)
failed=0
python3 bench/export_time.py "$tool" "$gguf" || failed=1
"$tool" export "$gguf" build/bench-smollm2 --no-validate --quiet
python3 bench/decode.py "$tool" build/bench-smollm2
rm -rf build/bench-smollm2
exit $failed
