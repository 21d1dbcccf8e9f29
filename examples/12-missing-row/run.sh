#!/bin/sh
# Checks elu.ir without a row for aten::elu, then with the row that the report gave.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

echo "== without its row"
if "$program" check "$out/elu.ir" --mappings "$here/without_elu.yaml" --report json="$out/without.json"; then
  echo "convertible, and should not be" >&2
  exit 1
fi
echo "== with the row"
"$program" check "$out/elu.ir" --mappings "$here/without_elu.yaml" --mappings "$here/elu.yaml" --report json="$out/with.json"
"$program" convert "$out/elu.ir" --mappings "$here/without_elu.yaml" --mappings "$here/elu.yaml" --input input=f32:n,m -o "$out/elu.onnx"
"$program" inspect "$out/elu.onnx"
