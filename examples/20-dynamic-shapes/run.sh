#!/bin/sh
# Converts a network with named sizes, and shows what is said of one into which tracing baked a size.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

for name in dynamic baked; do
  echo "== $name"
  "$program" convert "$out/$name.pt" --input image=f32:batch,3,height,width -o "$out/$name.onnx"
  "$program" inspect "$out/$name.onnx" -q
  "$program" verify "$out/$name.pt" "$out/$name.onnx" --input image=f32:batch,3,height,width --report "$out/$name.json" || test $name = baked
done
echo "== a size that is baked in is a number, not a name"
"$program" convert "$out/baked.pt" --input image=f32:batch,3,height,8 -o "$out/fixed.onnx"
"$program" verify "$out/baked.pt" "$out/fixed.onnx" --input image=f32:batch,3,height,8
