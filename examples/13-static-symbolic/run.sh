#!/bin/sh
# Converts an autograd Function to Clip with a constant minimum, below and above the opset at which the minimum became an input.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

for opset in 10 11; do
  echo "== opset $opset"
  "$program" check "$out/my_relu.ir" --opset $opset --mappings "$here/rows.yaml" --report json="$out/check_$opset.json"
  "$program" convert "$out/my_relu.ir" --opset $opset --mappings "$here/rows.yaml" --input x=f32:n,m -o "$out/my_relu_$opset.onnx"
  "$program" inspect "$out/my_relu_$opset.onnx"
done
