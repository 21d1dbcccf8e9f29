#!/bin/sh
# Classifies the operators of one model; of another, whose trace took values for constants, shows at which batch that is seen.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac   # given from where it was called
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"

"${PYTHON:-python3}" model.py "$out"

echo "== classes.pt: one operator has no translation, exit 1"
code=0
"$program" "$out/classes.pt" --opset 17 -v || code=$?
[ "$code" = 1 ] || exit 2

echo "== baked.pt"
batch="--input x=f32:batch,3,4 --input lengths=f32:batch"
"$program" "$out/baked.pt" $batch -v
"$program" convert "$out/baked.pt" $batch -o "$out/baked.onnx"
"$program" inspect "$out/baked.onnx"

echo "== the batch can't change: the 7 of the trace stands in its place, exit 1"
code=0
"$program" verify "$out/baked.pt" $batch || code=$?
[ "$code" = 1 ] || exit 2

echo "== two rows don't make seven: PyTorch itself fails, exit 1"
code=0
"$program" verify "$out/baked.pt" $batch --dim batch=2 || code=$?
[ "$code" = 1 ] || exit 2
