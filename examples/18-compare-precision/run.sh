#!/bin/sh
# Compares a model with its ONNX file: as converted, and converted with a row that is a near miss.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/model.py" "$out"

"$program" convert "$out/model.pt" --input x=f32:batch,16 -o "$out/model.onnx"
for seed in 0 1 2; do
  echo "== seed $seed"
  "$program" verify "$out/model.pt" "$out/model.onnx" --input x=f32:batch,16 --seed $seed --runs 4 --require "cosine>=0.99999"
  "$program" verify "$out/model.pt" "$out/model.onnx" --input x=f32:batch,16 --seed $seed --runs 4 --format json >"$out/seed_$seed.json"
done

echo "== a near miss"
"$program" convert "$out/model.pt" --input x=f32:batch,16 --mappings "$here/near_miss.yaml" -o "$out/near.onnx"
for format in text json; do
  code=0
  "$program" verify "$out/model.pt" "$out/near.onnx" --input x=f32:batch,16 --mappings "$here/near_miss.yaml" --bisect --repro "$out/case" --format $format >"$out/near.$format" || code=$?
  test $code -eq 1
done
cat "$out/near.text"
