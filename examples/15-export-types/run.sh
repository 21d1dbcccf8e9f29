#!/bin/sh
# Converts triu.ir with every export type, sum.ir with onnx-fallthrough, and shows what was written.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")

echo "== onnx"
if "$program" convert "$here/triu.ir" -o "$out/onnx.onnx" --opset 13 --mappings "$here/one_node.yaml"; then
  echo "onnx: written, and should not be" >&2
  exit 1
fi
for type in onnx-aten onnx-aten-fallback onnx-fallthrough raw; do
  echo "== $type"
  "$program" convert "$here/triu.ir" -o "$out/$type.onnx" --opset 13 --mappings "$here/one_node.yaml" --export-type "$type"
  "$program" inspect "$out/$type.onnx"
done
echo "== sum, onnx-fallthrough"
"$program" convert "$here/sum.ir" -o "$out/sum.onnx" --opset 13 --export-type onnx-fallthrough
"$program" inspect "$out/sum.onnx"
