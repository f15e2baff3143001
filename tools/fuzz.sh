#!/bin/sh
# Runs every fuzzer for some seconds: fuzz.sh BIN_DIR SECONDS. Fails on a finding, or when there is none to run.
set -eu
bin=$1
seconds=$2
root=$(cd "$(dirname "$0")/.." && pwd)

count=0
for fuzzer in "$bin"/fuzz_*; do
  [ -x "$fuzzer" ] || continue
  name=$(basename "$fuzzer")
  corpus="$bin/../corpus/$name"
  seeds="$root/tests/fuzz/seeds/$name"
  mkdir -p "$corpus"
  set -- "$corpus"
  [ -d "$seeds" ] && set -- "$@" "$seeds"
  echo "[fuzz] $name for $seconds s"
  log="$bin/../$name.log"
  if ! "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="$bin/../$name-" "$@" </dev/null >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "[fuzz] $name found an input that fails; it is kept as $bin/../$name-*" >&2
    exit 1
  fi
  tail -n 1 "$log"
  count=$((count + 1))
done
[ "$count" -gt 0 ] || { echo "[fuzz] $bin has no fuzz_* programs" >&2; exit 1; }
echo "[fuzz] $count fuzzers, no findings"
