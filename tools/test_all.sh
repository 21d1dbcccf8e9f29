#!/usr/bin/env bash
# Everything that is too long for `make test`, stage by stage:  tools/test_all.sh [STAGE...]
#
#   whole      every test of the release build, those with the label `all` too: all opsets, dtypes, random calls
#   corpus     the operator corpus at every opset, as exported programs too, and every operator in every pair of dtypes
#   models     architectures of transformers, with PyTorch's exporter beside
#   programs   random programs, PROGRAMS of each kind (2000)
#   asan tsan  the tests under AddressSanitizer, and those of threads under ThreadSanitizer
#   fuzz       the fuzzers, FUZZ_SECONDS each (60)
#   scan       2,000 models on a Ray cluster, a model of 1 GB, Spark
#   wheel      the Python package, built and tried in a fresh environment
#   mutants    48 mutants with another seed than the last: reports what survives
#
# A stage that passed isn't run again while nothing has changed: build/test-all holds a stamp for each. Of the first stage, no test that
# passed is. Prints each stage's time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
stages=(whole corpus models programs asan tsan fuzz scan wheel mutants)
[ $# -eq 0 ] || stages=("$@")
folder=build/test-all
mkdir -p "$folder"

# The state of the sources: what is committed, what isn't, and what git doesn't track.
state() { { git rev-parse HEAD; git diff HEAD; git ls-files --others --exclude-standard -z | sort -z | xargs -0r sha256sum; } | sha256sum | cut -c1-16; }

run_stage() {
  case "$1" in
    corpus) make corpus ;;
    models) make models ;;
    programs) make programs PROGRAMS="${PROGRAMS:-2000}" ;;
    whole) make test-whole RESUME="$folder/whole.passed" ;;
    asan | tsan | scan) make "test-$1" ;;
    fuzz) make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-60}" ;;
    wheel) make wheel ;;
    mutants) make mutants ;;
    *) echo "test-all: unknown stage '$1'; the head of tools/test_all.sh lists them" >&2; return 2 ;;
  esac
}

began=$SECONDS
failed=()
for stage in "${stages[@]}"; do
  now=$(state)
  export COMPATCHECK_SOURCES=$now
  if [ "$(cat "$folder/$stage" 2>/dev/null)" = "$now" ]; then
    echo "test-all: $stage passed before, with the same sources"
    continue
  fi
  start=$SECONDS
  echo "test-all: $stage begins"
  if run_stage "$stage"; then
    echo "$now" >"$folder/$stage"
    echo "test-all: $stage passed in $(((SECONDS - start) / 60)) minutes"
  else
    failed+=("$stage")
    echo "test-all: $stage FAILED after $(((SECONDS - start) / 60)) minutes"
  fi
done
echo "test-all: ${#stages[@]} stages in $(((SECONDS - began) / 60)) minutes, ${#failed[@]} failed${failed[0]:+: ${failed[*]}}"
[ ${#failed[@]} -eq 0 ]
