#!/bin/sh
# Checks and converts a graph with three autograd Functions, with rows for two of them and with rows for all.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

echo "== rows for two of three"
if "$program" check "$out/three.ir" --mappings "$here/rows.yaml" --report json="$out/two.json"; then
  echo "convertible, and should not be" >&2
  exit 1
fi
echo "== rows for all"
"$program" check "$out/three.ir" --mappings "$here/rows.yaml" --mappings "$here/norm.yaml" --report json="$out/three.json"
"$program" convert "$out/three.ir" --mappings "$here/rows.yaml" --mappings "$here/norm.yaml" -o "$out/three.onnx"
"$program" inspect "$out/three.onnx"
