#!/bin/sh
# Every mode at the opsets where Upsample and Resize changed: with sizes that vary, and with fixed ones, which need less of ONNX.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac   # given from where it was called
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"
vary=x=f32:batch,3,height,width
fixed=x=f32:2,3,6,8

"${PYTHON:-python3}" model.py "$out"

convert() {   # MODEL INPUT NAME OPSET...
  model=$1 input=$2 name=$3
  shift 3
  for opset in "$@"; do
    "$program" convert "$out/$model.pt" --opset "$opset" --input "$input" -o "$out/$name-$opset.onnx"
  done
}

convert repeat $vary repeat 9 10 11 13 18 19
convert smooth $vary smooth 9 10 11 13 18 19
convert smooth $fixed smooth-fixed 9 10
convert others $fixed others-fixed 9 10 11 13 18 19

echo "== smooth.pt, sizes that vary: from opset 9, exit 1"
code=0
"$program" "$out/smooth.pt" --opset 8,9,10,11,13,18,19 --input $vary || code=$?
[ "$code" = 1 ] || exit 2
