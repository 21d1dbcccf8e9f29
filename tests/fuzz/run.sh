#!/usr/bin/env bash
# Runs every fuzzer of a build folder for some seconds each, from the kept cases. A find is left in BUILD/findings/:
# minimise it, keep it in tests/fuzz/cases/NAME/, and mend what it found. Exits 1 after a find.
#
#   tests/fuzz/run.sh BUILD SECONDS
set -euo pipefail

build=$1 seconds=$2
cases=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/cases
mkdir -p "$build/findings"
# Debian keeps it where clang doesn't look.
export ASAN_SYMBOLIZER_PATH=/usr/lib/llvm-16/bin/llvm-symbolizer
shopt -s nullglob
fuzzers=("$build"/fuzzers/*)
[ ${#fuzzers[@]} -gt 0 ] || { echo "no fuzzers in $build/fuzzers" >&2; exit 2; }
broken=()
for fuzzer in "${fuzzers[@]}"; do
  name=$(basename "$fuzzer")
  echo "== $name"
  mkdir -p "$build/fuzz-corpus/$name"
  "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$name-" "$build/fuzz-corpus/$name" "$cases/$name" || broken+=("$name")
done
[ ${#broken[@]} -eq 0 ] || { echo "finds in: ${broken[*]}; see $build/findings" >&2; exit 1; }
