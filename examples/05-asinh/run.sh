#!/bin/sh
# aten::asinh by the shipped row, without any, and by a row of one's own.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac   # given from where it was called
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"

exits() {   # CODE COMMAND...
  wanted=$1 code=0
  shift
  "$@" || code=$?
  [ "$code" = "$wanted" ] || { echo "exit $code, not $wanted: $*" >&2; exit 2; }
}

echo "== shipped"
"$program" explain aten::asinh
exits 1 "$program" asinh.ir --opset 8
"$program" convert asinh.ir --opset 9 --input x=f32:batch,4 -o "$out/shipped.onnx"

echo "== no row: the report prints one"
exits 1 "$program" asinh.ir --mappings missing.yaml

echo "== a row of one's own, the later file wins"
"$program" lint asinh.yaml
"$program" asinh.ir --mappings missing.yaml --mappings asinh.yaml
"$program" convert asinh.ir --opset 9 --input x=f32:batch,4 --mappings missing.yaml --mappings asinh.yaml -o "$out/own.onnx"
