#!/bin/sh
# Deformable convolution as ONNX's own DeformConv, which came with opset 19.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac   # given from where it was called
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"
input=x=f32:batch,4,height,width

"${PYTHON:-python3}" model.py "$out"

echo "== below opset 19: exit 1"
code=0
"$program" "$out/masked.pt" --opset 18 --input $input || code=$?
[ "$code" = 1 ] || exit 2

for form in masked plain no-bias; do
  echo "== $form, opset 19"
  "$program" "$out/$form.pt" --opset 19 --input $input -q
  "$program" convert "$out/$form.pt" --opset 19 --input $input -o "$out/$form.onnx"
  "$program" inspect "$out/$form.onnx" --op DeformConv
done
