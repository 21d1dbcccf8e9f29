#!/bin/sh
# Three operators, each of which fails another link between PyTorch and ONNX; then each remedy.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac   # given from where it was called
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"
input=x=f32:batch,3

echo "== three links fail, exit 1"
code=0
"$program" links.ir --mappings missing.yaml || code=$?
[ "$code" = 1 ] || exit 2

echo "== the rows that the report prints, and one of three ways for what ONNX lacks"
"$program" lint pasted.yaml composed.yaml function.yaml domain.yaml
"$program" links.ir --mappings missing.yaml --mappings pasted.yaml --mappings composed.yaml
for way in composed function domain; do
  "$program" convert links.ir --input $input --mappings pasted.yaml --mappings $way.yaml -o "$out/$way.onnx"
  "$program" inspect "$out/$way.onnx"
done

echo "== the two that need no other runtime, verified"
"${PYTHON:-python3}" model.py "$out"
for way in composed function; do
  "$program" convert "$out/chebyshev.pt" --input $input --mappings $way.yaml -o "$out/chebyshev-$way.onnx"
  "$program" verify "$out/chebyshev.pt" --input $input --mappings $way.yaml
done
