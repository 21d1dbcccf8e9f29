#!/bin/sh
# Converts SELU as a local ONNX function at opsets 14 and 15, and with its nodes in the place of the calls.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

for opset in 14 15; do
  echo "== opset $opset"
  "$program" check "$out/f32.pt" --opset $opset --mappings "$here/rows.yaml" --report json="$out/f32_$opset.json"
  "$program" convert "$out/f32.pt" --opset $opset --mappings "$here/rows.yaml" --input x=f32:n,4 -o "$out/f32_$opset.onnx"
  "$program" verify "$out/f32.pt" "$out/f32_$opset.onnx" --opset $opset --mappings "$here/rows.yaml" --input x=f32:n,4
done
"$program" inspect "$out/f32_15.onnx"
echo "== float64, opset 14"
if "$program" check "$out/f64.pt" --opset 14 --mappings "$here/rows.yaml" --report json="$out/f64_14.json"; then
  echo "convertible, and should not be" >&2
  exit 1
fi
echo "== float64, opset 15"
"$program" convert "$out/f64.pt" --opset 15 --mappings "$here/rows.yaml" --input x=f64:n,4 -o "$out/f64_15.onnx"
echo "== nodes in the place of the calls"
"$program" convert "$out/f32.pt" --opset 15 --mappings "$here/rows.yaml" --input x=f32:n,4 --inline-functions -o "$out/inlined.onnx"
