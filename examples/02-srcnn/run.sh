#!/bin/sh
# Converts a model that scales by an input, as compatcheck's own rows say and as one_node.yaml says.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac   # given from where it was called
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"
sizes="--opset 11 --input x=f32:1,3,height,width --input scales=f32:4"

"${PYTHON:-python3}" model.py "$out"

echo "== its own rows: exact for every factor"
"$program" "$out/srcnn.pt" $sizes
"$program" convert "$out/srcnn.pt" $sizes -o "$out/exact.onnx"
"$program" inspect "$out/exact.onnx" --op Resize
"$program" verify "$out/srcnn.pt" --opset 11 --inputs-from "$out/inputs.pt"

echo "== one_node.yaml: Resize alone"
"$program" "$out/srcnn.pt" $sizes --mappings one_node.yaml
"$program" convert "$out/srcnn.pt" $sizes --mappings one_node.yaml -o "$out/one_node.onnx"
"$program" inspect "$out/one_node.onnx" --op Resize
"$program" verify "$out/srcnn.pt" "$out/one_node.onnx" --inputs-from "$out/inputs.pt"
