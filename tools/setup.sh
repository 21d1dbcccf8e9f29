#!/usr/bin/env bash
# Brings a Debian 12 machine to where `make` can run, and repeats nothing that is already there.
#
#   tools/setup.sh build     compiler, libraries, CMake, libtorch, onnx (built once from its source distribution)
#   tools/setup.sh test      the same, and the Python packages of the tests
#   tools/setup.sh fuzz      the same, and clang with libFuzzer
#   tools/setup.sh corpus    test, and what the operator corpus imports
#   tools/setup.sh paths     prints where things are or will be, for CMake and make
#
# All of it lands in the cache, ${COMPATCHECK_CACHE:-${XDG_CACHE_HOME:-~/.cache}/compatcheck}, which every clone shares.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=versions.env
source "$root/tools/versions.env"
cache=${COMPATCHECK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/compatcheck}

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

# --- Debian packages -------------------------------------------------------------------------------------------------

build_packages=(
  g++ make ninja-build ccache mold
  protobuf-compiler libprotobuf-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev
)
# 16 is the first clang of Debian 12 that takes the library of g++ 12 in C++20 whole.
fuzz_packages=(clang-16 libclang-rt-16-dev)

debian_packages() {
  local missing=() package
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p') || true
  for package in "$@"; do
    grep -qx -- "$package" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local command="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    fail "these Debian packages are missing; run this as root, then try again:
  apt-get update && $command"
  fi
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local quiet=(-qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  apt-get "${quiet[@]}" update >&2
  apt-get "${quiet[@]}" install -y --no-install-recommends "${missing[@]}" >&2
}

# --- The Python environment ------------------------------------------------------------------------------------------

# Where the active Python keeps a torch that we support, whatever its build; nothing otherwise. Doesn't import it.
active_torch() {
  python3 - "$TORCH" <<'PYTHON' 2>/dev/null || true
import importlib.util, pathlib, re, sys
spec = importlib.util.find_spec("torch")
folder = pathlib.Path(spec.origin).parent
version = re.search(r"__version__ = ['\"]([^'\"]+)", (folder / "version.py").read_text()).group(1)
if version.split(".")[:2] == sys.argv[1].split(".")[:2]:
    print(folder.parent)
PYTHON
}

# A libtorch that the user points to with CMAKE_PREFIX_PATH.
prefix_torch() {
  local folder
  local IFS=:
  for folder in ${CMAKE_PREFIX_PATH:-}; do
    [ -f "$folder/include/torch/csrc/api/include/torch/version.h" ] && printf '%s\n' "$folder" && return
    [ -f "$folder/include/torch/version.h" ] && printf '%s\n' "$folder" && return
  done
  return 0
}

# An environment is named after the torch it stands on: our own wheel, or the active Python's.
environment_name() {
  [ -z "$1" ] && printf 'venv' || printf 'venv-%s' "$(printf '%s' "$1" | sha256sum | cut -c1-12)"
}

# The libtorch to build with, installed already or not.
torch_folder() {
  local found
  found=$(prefix_torch)
  [ -n "$found" ] || found=$(echo "${torch_site:-$(echo "$venv"/lib/python3.*/site-packages)}")/torch
  printf '%s' "$found"
}

create_environment() {
  [ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import pip' 2>/dev/null && return
  say "creating $venv"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "Python 3.10 or newer is needed; python3 is $(python3 -V 2>&1)"
  python3 -c 'import ensurepip, venv' 2>/dev/null || debian_packages python3-venv
  python3 -m venv --clear "$venv" >&2
  # Comes after our own packages in sys.path, so that its torch is the one that everybody imports.
  [ -z "$torch_site" ] || printf '%s\n' "$torch_site" >"$(echo "$venv"/lib/python3.*/site-packages)/active-torch.pth"
}

# stamped NAME KEY COMMAND...: runs the command unless it succeeded before with the same key.
stamped() {
  local stamp="$venv/.compatcheck-$1" key="$2"
  shift 2
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ] && return
  "$@"
  printf '%s' "$key" >"$stamp.$$" && mv "$stamp.$$" "$stamp"
}

python_packages() {
  local missing
  missing=$("$venv/bin/python" - "$@" <<'PYTHON'
import importlib.metadata, sys
for wanted in sys.argv[1:]:
    name, version = wanted.split("==")
    try:
        # A local build label (2.13.0+cpu) is the same release.
        if importlib.metadata.version(name).split("+")[0] == version:
            continue
    except importlib.metadata.PackageNotFoundError:
        pass
    print(wanted)
PYTHON
)
  [ -z "$missing" ] && return
  say "installing" $missing
  # shellcheck disable=SC2086
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $missing >&2
}

# --- onnx ------------------------------------------------------------------------------------------------------------

# Its installed CMake config asks for a protobuf config package that Debian lacks; cmake/FindOnnx.cmake finds it instead.
onnx_folder() {
  printf '%s/onnx-%s-protobuf%s-%s-r%s' "$cache" "$ONNX" "$(protoc --version | cut -d' ' -f2)" "$(uname -m)" "$ONNX_RECIPE"
}

build_onnx() {
  local target
  target=$(onnx_folder)
  [ -d "$target" ] && return
  local work
  work=$(mktemp -d "$cache/onnx-build.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  say "building onnx $ONNX from its source distribution (once, about two minutes)"
  "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary onnx --dest "$work" "onnx==$ONNX" >&2
  tar -xzf "$work/onnx-$ONNX.tar.gz" -C "$work"
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  "$venv/bin/cmake" -S "$work/onnx-$ONNX" -B "$work/build" -G Ninja "${launcher[@]}" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_CXX_STANDARD=17 \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
    -DONNX_ML=ON -DONNX_BUILD_PYTHON=OFF -DONNX_BUILD_TESTS=OFF -DONNX_GEN_PB_TYPE_STUBS=OFF \
    -DPython3_EXECUTABLE="$venv/bin/python" -DPython_EXECUTABLE="$venv/bin/python" \
    -DCMAKE_INSTALL_PREFIX="$work/installed" -DCMAKE_INSTALL_LIBDIR=lib >"$work/log" 2>&1 ||
    { tail -40 "$work/log" >&2; fail "onnx could not be configured"; }
  "$venv/bin/cmake" --build "$work/build" --target install >"$work/log" 2>&1 ||
    { tail -40 "$work/log" >&2; fail "onnx could not be built"; }
  cp "$work/onnx-$ONNX/LICENSE" "$work/installed/LICENSE"
  mv "$work/installed" "$target"
  rm -rf "$work"
  trap - EXIT
}

# --- What each purpose needs -----------------------------------------------------------------------------------------

setup_build() {
  debian_packages "${build_packages[@]}"
  create_environment
  local wanted=("cmake==$CMAKE")
  [ -n "$(prefix_torch)" ] || [ -n "$torch_site" ] || wanted+=("torch==$TORCH" "numpy==$NUMPY")
  stamped build "${wanted[*]}" python_packages "${wanted[@]}"
  build_onnx
}

test_python_packages() {
  python_packages "$@"
}

setup_test() {
  setup_build
  local wanted=("numpy==$NUMPY" "onnx==$ONNX" "onnxruntime==$ONNXRUNTIME")
  [ -n "$torch_site" ] || wanted+=("torch==$TORCH")
  stamped test "${wanted[*]}" python_packages "${wanted[@]}"
}

setup_fuzz() {
  setup_build
  debian_packages "${fuzz_packages[@]}"
}

purpose=${1:-build}
torch_site=$(active_torch)
venv="$cache/$(environment_name "$torch_site")"
if [ "$purpose" = paths ]; then
  printf '%s=%s\n' environment "$venv" torch "$(torch_folder)" onnx "$(onnx_folder)"
  exit
fi
mkdir -p "$cache"
# One set-up at a time; a second one waits and then finds everything done.
exec 9>"$cache/lock"
flock -n 9 || { say "waiting for another set-up to finish"; flock 9; }
case "$purpose" in
  build | test | fuzz | corpus) "setup_$purpose" ;;
  *) fail "unknown purpose '$purpose': build, test, fuzz, corpus or paths" ;;
esac
