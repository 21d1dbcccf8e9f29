#!/bin/sh
# Asks what three engines make of a model, and at which opset all of them take it.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

engines="--target tensorrt --target openvino --target ort-cpu"
"$program" check "$out/model.pt" --input x=f32:1,3,8,8 --opset 18 $engines --report json="$out/report.json" --report html="$out/report.html"
"$program" convert "$out/model.pt" --input x=f32:1,3,8,8 --opset 18 $engines -o "$out/model.onnx"

echo "== as a gate: an engine that doesn't take the model fails the check"
code=0
"$program" check "$out/model.pt" --input x=f32:1,3,8,8 --opset 18 --target tensorrt --fail-on warning -q || code=$?
test $code -eq 1
"$program" check "$out/model.pt" --input x=f32:1,3,8,8 --opset 18 --target ort-cpu --fail-on warning -q
