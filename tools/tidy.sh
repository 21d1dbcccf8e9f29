#!/usr/bin/env bash
# clang-tidy over our own C++, as .clang-tidy says.
#
#   tools/tidy.sh BUILD_FOLDER JOBS [REGEX]      of the files whose names match
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
jobs=$2 chosen=${3:-.}
cd "$root"

[ -f "$build/compile_commands.json" ] || { echo "tidy: error: $build isn't configured" >&2; exit 2; }
mapfile -t files < <(git ls-files 'src/*.cpp' 'tests/*.cpp' | grep -E -- "$chosen" | while read -r file; do
  ! grep -qF "$root/$file\"" "$build/compile_commands.json" || printf '%s\n' "$file"
done)
[ ${#files[@]} -gt 0 ] || { echo "tidy: error: no such files" >&2; exit 2; }

# GCC's own warnings and precompiled headers mean nothing to clang. It counts on stderr what it doesn't show of others' headers.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
sed -E 's/-Winvalid-pch +-include +[^ ]*cmake_pch\.hxx//' "$build/compile_commands.json" > "$commands/compile_commands.json"
printf '%s\n' "${files[@]}" |
  xargs -P "$jobs" -n 1 clang-tidy-16 --quiet -p "$commands" --extra-arg=-Wno-unknown-warning-option 2> >(grep -v 'warnings generated' >&2)
