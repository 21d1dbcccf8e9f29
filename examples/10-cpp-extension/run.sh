#!/bin/sh
# Builds the library against the torch of $PYTHON; checks, converts and verifies a model that calls it, without it and with it.
set -eu
program=${1:-compatcheck}
out=${2:-.}
mkdir -p "$out"
here=$(dirname "$0")
python=${PYTHON:-python3}
torch=$("$python" -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])")
"${CXX:-g++}" -std=c++20 -fPIC -shared "$here/my_lib.cpp" -o "$out/libmy_lib.so" -I"$torch/include" -L"$torch/lib" -ltorch_cpu -lc10
"$python" "$here/model.py" "$out"

echo "== without the library, without a row"
if "$program" check "$out/model.pt" --report json="$out/without.json"; then
  echo "convertible, and should not be" >&2
  exit 1
fi
echo "== with the library: its schema is known"
if "$program" check "$out/model.pt" --op-library "$out/libmy_lib.so" --report json="$out/with_library.json"; then
  echo "convertible, and should not be" >&2
  exit 1
fi
echo "== with a row, without the library"
"$program" check "$out/model.pt" --mappings "$here/rows.yaml" --report json="$out/mapped.json"
"$program" convert "$out/model.pt" --mappings "$here/rows.yaml" --input a=f32:n,m --input b=f32:n,m -o "$out/model.onnx"
"$program" inspect "$out/model.onnx"
echo "== verify without the library"
code=0
"$program" verify "$out/model.pt" "$out/model.onnx" --mappings "$here/rows.yaml" --input a=f32:n,m --input b=f32:n,m 2>"$out/verify.txt" || code=$?
cat "$out/verify.txt"
echo "exit $code"
test $code -eq 2
echo "== verify with it"
"$program" verify "$out/model.pt" "$out/model.onnx" --mappings "$here/rows.yaml" --op-library "$out/libmy_lib.so" --input a=f32:n,m --input b=f32:n,m
