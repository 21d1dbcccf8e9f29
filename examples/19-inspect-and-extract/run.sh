#!/bin/sh
# Looks into an ONNX model, takes a part out of it and gives it more outputs.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"
"$program" convert "$out/model.pt" --input image=f32:n,3,16,16 --input mask=f32:n,1,8,8 -o "$out/model.onnx"

echo "== all of it"
"$program" inspect "$out/model.onnx"
"$program" inspect "$out/model.onnx" --format json >"$out/inspected.json"
echo "== one operator, with statistics of its weights"
"$program" inspect "$out/model.onnx" --op Conv --weights
"$program" inspect "$out/model.onnx" --op Conv --weights --format json >"$out/conv.json"

echo "== parts: by values, by modules"
"$program" extract "$out/model.onnx" --from image --to /stem/Relu_output_0 -o "$out/stem.onnx"
"$program" extract "$out/model.onnx" --from head --to head -o "$out/head.onnx"
echo "== a cut that misses an input"
code=0
"$program" extract "$out/model.onnx" --from /stem/Relu_output_0 --to head -o "$out/missed.onnx" 2>"$out/missed.txt" || code=$?
cat "$out/missed.txt"
echo "exit $code"
test $code -eq 2
echo "== every inner value as an output"
"$program" extract "$out/model.onnx" --add-outputs all -o "$out/all.onnx"

echo "== where a changed file differs from TorchScript"
"${PYTHON:-python3}" "$here/change.py" "$out"
code=0
"$program" verify "$out/model.pt" "$out/changed.onnx" --input image=f32:n,3,16,16 --input mask=f32:n,1,8,8 --bisect --format json >"$out/bisected.json" || code=$?
test $code -eq 1
"$program" verify "$out/model.pt" "$out/changed.onnx" --input image=f32:n,3,16,16 --input mask=f32:n,1,8,8 --bisect || test $? -eq 1
"$program" diff "$out/model.onnx" "$out/changed.onnx" || test $? -eq 1
