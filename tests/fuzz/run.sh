#!/usr/bin/env bash
# Runs every fuzzer of a build folder for some seconds each, from the kept cases. A find is left in BUILD/findings/:
# minimise it, keep it in tests/fuzz/cases/NAME/, and mend what it found.
#
#   tests/fuzz/run.sh BUILD SECONDS
set -euo pipefail

build=$1 seconds=$2
cases=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/cases
mkdir -p "$build/findings"
shopt -s nullglob
fuzzers=("$build"/fuzzers/*)
[ ${#fuzzers[@]} -gt 0 ] || { echo "no fuzzers in $build/fuzzers" >&2; exit 1; }
for fuzzer in "${fuzzers[@]}"; do
  name=$(basename "$fuzzer")
  echo "== $name"
  mkdir -p "$build/fuzz-corpus/$name"
  "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$name-" "$build/fuzz-corpus/$name" "$cases/$name"
done
