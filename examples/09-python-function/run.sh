#!/bin/sh
# Checks the graph of a model that calls an autograd Function without its row and with it, and converts it.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

echo "== without a row"
if "$program" check "$out/my_add.ir" --report json="$out/without.json"; then
  echo "convertible, and should not be" >&2
  exit 1
fi
for opset in 7 17; do
  echo "== with the row, opset $opset"
  "$program" check "$out/my_add.ir" --opset $opset --mappings "$here/rows.yaml" --report json="$out/check_$opset.json"
  "$program" convert "$out/my_add.ir" --opset $opset --mappings "$here/rows.yaml" --input a=f32:n,m --input b=f32:n,m -o "$out/my_add_$opset.onnx"
done
"$program" inspect "$out/my_add_17.onnx"
