#!/bin/sh
# Every kind in which a row gives an argument; then rows with wrong ones.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac   # given from where it was called
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"

"$program" lint rows.yaml
"$program" warp.ir --mappings rows.yaml
"$program" convert warp.ir --mappings rows.yaml -o "$out/warp.onnx"
"$program" inspect "$out/warp.onnx"

for rows in wrong/*.yaml; do
  echo "== $rows"
  code=0
  "$program" lint "$rows" || code=$?
  [ "$code" = 1 ] || exit 3
done

echo "== a wrong row is no table: exit 2"
code=0
"$program" convert warp.ir --mappings wrong/int.yaml -o "$out/wrong.onnx" || code=$?
[ "$code" = 2 ] || exit 3
