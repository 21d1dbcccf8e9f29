#!/bin/sh
# Deformable convolution at opset 11, as a node of a custom domain.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac   # given from where it was called
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"
input=x=f32:batch,3,height,width

exits() {   # CODE COMMAND...
  wanted=$1 code=0
  shift
  "$@" || code=$?
  [ "$code" = "$wanted" ] || { echo "exit $code, not $wanted: $*" >&2; exit 2; }
}

"${PYTHON:-python3}" model.py "$out"

echo "== without the row"
exits 1 "$program" "$out/deformed.pt" --opset 11 --input $input

echo "== with it"
"$program" lint rows.yaml
"$program" "$out/deformed.pt" --opset 11 --input $input --mappings rows.yaml
"$program" convert "$out/deformed.pt" --opset 11 --input $input --mappings rows.yaml -o "$out/deformed.onnx"
"$program" inspect "$out/deformed.onnx" --op custom::deform_conv2d

echo "== ONNX Runtime has no such operator"
exits 1 "$program" verify "$out/deformed.pt" "$out/deformed.onnx" --input $input
exits 1 "$program" verify "$out/deformed.pt" --opset 11 --input $input --mappings rows.yaml
