#!/usr/bin/env bash
# Makes an operator corpus once:  make_corpus.sh PYTHON FOLDER [argument of the generator...]
# FOLDER carries the generator's hash in its name, so what is there is what this generator makes.
set -euo pipefail

python=$1 folder=$2
shift 2
exec 9>"$folder.lock"
flock 9
if [ -d "$folder" ]; then exit; fi
rm -rf "$folder.part"
"$python" "$(dirname "${BASH_SOURCE[0]}")/opinfo_corpus.py" --out "$folder.part" --split dev "$@"
mv "$folder.part" "$folder"
