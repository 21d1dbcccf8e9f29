#!/bin/sh
# Converts a custom operator to an operator of a custom domain, with typed attributes and the domain's version.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

"$program" check "$out/model.pt" --mappings "$here/rows.yaml" --report json="$out/check.json"
"$program" convert "$out/model.pt" --mappings "$here/rows.yaml" --input input1=f32:n,m --input input2=f32:n,m -o "$out/model.onnx"
"$program" inspect "$out/model.onnx"
echo "== another version of the domain"
"$program" convert "$out/model.pt" --mappings "$here/rows.yaml" --custom-opset custom_domain=3 -o "$out/version_3.onnx"
echo "== a wrong kind"
sed 's/{int: attr2}/{string: attr2}/' "$here/rows.yaml" >"$out/wrong_kind.yaml"
code=0
"$program" check "$out/model.pt" --mappings "$out/wrong_kind.yaml" 2>"$out/wrong_kind.txt" || code=$?
cat "$out/wrong_kind.txt"
echo "exit $code"
test $code -eq 2
