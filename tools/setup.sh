#!/usr/bin/env bash
# Brings a Debian 12 machine to where `make` can run, and repeats nothing that is already there.
#
#   tools/setup.sh program   compiler, libraries, CMake, onnx (built once from its source distribution): the program without libtorch
#   tools/setup.sh build     program, and libtorch
#   tools/setup.sh models    build, and a Python that can make the models of tests and demonstration
#   tools/setup.sh test      models, and the Python packages and browser of the tests
#   tools/setup.sh scan      test, and Spark with Java
#   tools/setup.sh zoo       test, and the transformers that exports programs
#   tools/setup.sh wheel     program, and what builds and examines the Python wheel
#   tools/setup.sh fuzz      build, and clang with libFuzzer
#   tools/setup.sh format    a Python environment with clang-format, and nothing else
#   tools/setup.sh tidy      test, and clang-tidy
#   tools/setup.sh packages  Debian's packages of program and wheel: the part that needs root
#   tools/setup.sh paths     installs nothing; prints where things are or will be, for CMake
#
# Everything but Debian's packages lands in the cache, which all clones share:
# ${COMPATCHECK_CACHE:-${XDG_CACHE_HOME:-~/.cache}/compatcheck}
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
  protobuf-compiler libprotobuf-dev zlib1g-dev libyaml-cpp-dev libcli11-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libgtest-dev libgmock-dev
)
module_packages=()  # Debian's Python has its headers apart
[ -f "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h" ] || module_packages=(python3-dev)
# 16 is the first clang of Debian 12 that takes the library of g++ 12 in C++20 whole.
fuzz_packages=(clang-16 libclang-rt-16-dev llvm-16)
tidy_packages=(clang-tidy-16)
java_packages=(openjdk-17-jre-headless)
browser_packages=(chromium fonts-dejavu-core)

debian_packages() {
  local installed missing=() package
  command -v dpkg-query >/dev/null || fail "this set-up is made for Debian 12; install the equivalents of: $*"
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p') || true
  for package in "$@"; do
    grep -qx -- "$package" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    fail "Debian packages are missing. Run this as root, then try again:

  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}
"
  fi
  say "installing Debian packages: ${missing[*]}"
  local options=(-qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" update >&2
  DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y --no-install-recommends "${missing[@]}" >&2
}

# --- libtorch and the Python environment -----------------------------------------------------------------------------

# A libtorch that the user points to with CMAKE_PREFIX_PATH.
prefix_torch() {
  local folder IFS=:
  for folder in ${CMAKE_PREFIX_PATH:-}; do
    if [ -f "$folder/lib/libtorch_cpu.so" ]; then
      printf '%s' "$folder"
      return
    fi
  done
}

# The folder from which the active Python imports a torch that we support, whatever its build; nothing without one.
# Ours doesn't count, should our environment be the active one.
active_torch() {
  python3 - "$TORCH" "$cache" <<'PYTHON' 2>/dev/null || true
import importlib.util, pathlib, re, sys
sys.path = [path for path in sys.path if path]
pinned, cache = sys.argv[1:]
package = pathlib.Path(importlib.util.find_spec("torch").origin).parent
version = re.search(r"__version__ = ['\"]([^'\"]+)", (package / "version.py").read_text()).group(1)
ours = pathlib.Path(cache).resolve() in package.resolve().parents
if version.split(".")[:2] == pinned.split(".")[:2] and not ours:
    print(package.parent)
PYTHON
}

# An environment is named after the torch it stands on: the wheel we install, or the active Python's.
environment_name() {
  if [ -z "$torch_site" ]; then printf venv; else printf 'venv-%s' "$(printf '%s' "$torch_site" | sha256sum | cut -c1-12)"; fi
}

# The libtorch to build with, installed already or not.
torch_folder() {
  local found
  found=$(prefix_torch)
  [ -n "$found" ] || found=$(echo "${torch_site:-$(echo "$venv"/lib/python3.*/site-packages)}")/torch
  printf '%s' "$found"
}

create_environment() {
  if "$venv/bin/python" -c 'import pip' 2>/dev/null; then return; fi
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    fail "Python 3.10 or newer is needed; 'python3' is $(python3 -V 2>&1 || true)"
  say "creating the Python environment $venv"
  python3 -m venv --clear "$venv" >&2
  if [ -n "$torch_site" ]; then
    # Comes after our own packages in sys.path: the one thing that only it has is torch.
    printf '%s\n' "$torch_site" >"$(echo "$venv"/lib/python3.*/site-packages)/active-torch.pth"
  fi
}

# Those of the given NAME==VERSION that aren't installed whole. pip writes INSTALLER last; a build label (2.13.0+cpu)
# doesn't make another release.
missing_packages() {
  "$venv/bin/python" - "$@" <<'PYTHON'
import importlib.metadata, sys
for wanted in sys.argv[1:]:
    name, version = wanted.split("==")
    try:
        found = importlib.metadata.distribution(name)
        if found.version.split("+")[0] == version and found.read_text("INSTALLER"):
            continue
    except importlib.metadata.PackageNotFoundError:
        pass
    print(wanted)
PYTHON
}

pip_install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2; }

# python_packages NAME [--no-deps] PACKAGE==VERSION...: a stamp spares later runs even the look.
python_packages() {
  local stamp="$venv/.compatcheck-$1" options=() missing
  shift
  if [ "$(cat "$stamp" 2>/dev/null)" = "$*" ]; then return; fi
  local wanted="$*"
  if [ "$1" = --no-deps ]; then options=(--no-deps) && shift; fi
  missing=$(missing_packages "$@")
  if [ -n "$missing" ]; then
    say "installing Python packages:" $missing
    # shellcheck disable=SC2086
    pip_install "${options[@]}" $missing
  fi
  printf '%s' "$wanted" >"$stamp.new" && mv "$stamp.new" "$stamp"
}

# The CPU build where the index offers one: the other draws in gigabytes for GPUs that we never use.
install_torch() {
  if [ -n "$torch_site" ]; then return; fi
  if [ -n "$(missing_packages "torch==$TORCH")" ]; then
    say "installing torch $TORCH"
    pip_install "torch==$TORCH+cpu" "numpy==$NUMPY" 2>/dev/null || pip_install "torch==$TORCH" "numpy==$NUMPY"
  fi
}

# --- onnx ------------------------------------------------------------------------------------------------------------

protobuf_version() { protoc --version 2>/dev/null | cut -d' ' -f2 || true; }
onnx_folder() { printf '%s/onnx-%s-protobuf%s-%s-r%s' "$cache" "$ONNX" "$(protobuf_version)" "$(uname -m)" "$ONNX_RECIPE"; }

build_onnx() {
  local target work
  target=$(onnx_folder)
  if [ -d "$target" ]; then return; fi
  rm -rf "$cache"/onnx-build.*  # what an interrupted run left
  work=$(mktemp -d "$cache/onnx-build.XXXXXX")
  say "building onnx $ONNX from its source distribution (once; about two minutes)"
  "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary onnx --dest "$work" "onnx==$ONNX" >&2
  tar -xzf "$work/onnx-$ONNX.tar.gz" -C "$work"
  if ! compile_onnx "$work" >"$work/log" 2>&1; then
    tail -40 "$work/log" >&2
    fail "onnx could not be built; the whole log is $work/log"
  fi
  cp "$work/onnx-$ONNX/LICENSE" "$work/installed/LICENSE"
  mv "$work/installed" "$target"
  rm -rf "$work"
}

compile_onnx() {
  local work=$1
  "$venv/bin/cmake" -S "$work/onnx-$ONNX" -B "$work/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DBUILD_SHARED_LIBS=OFF -DONNX_ML=ON -DONNX_BUILD_PYTHON=OFF -DONNX_BUILD_TESTS=OFF -DONNX_GEN_PB_TYPE_STUBS=OFF \
    -DPython3_EXECUTABLE="$venv/bin/python" -DPython_EXECUTABLE="$venv/bin/python" \
    -DCMAKE_INSTALL_PREFIX="$work/installed" -DCMAKE_INSTALL_LIBDIR=lib &&
    "$venv/bin/cmake" --build "$work/build" --target install
}

# --- protobuf --------------------------------------------------------------------------------------------------------

protobuf_folder() { printf '%s/protobuf-%s-%s' "$cache" "$(protobuf_version)" "$(uname -m)"; }

# Debian's static library is for programs alone. Its own source, compiled for shared libraries, fits Debian's headers.
build_protobuf() {
  local target work version
  target=$(protobuf_folder)
  if [ -d "$target" ]; then return; fi
  rm -rf "$cache"/protobuf-build.*
  work=$(mktemp -d "$cache/protobuf-build.XXXXXX")
  version=$(dpkg-query -W -f '${Version}' libprotobuf-dev)
  say "building protobuf $version from Debian's source (once; about a minute)"
  if ! { debian_source "protobuf=$version" "$work" && compile_protobuf "$work"; } >"$work/log" 2>&1; then
    tail -40 "$work/log" >&2
    fail "protobuf could not be built; the whole log is $work/log"
  fi
  mkdir "$work/installed"
  cp "$work/build/libprotobuf.a" "$work"/protobuf-*/LICENSE "$work/installed"
  mv "$work/installed" "$target"
  rm -rf "$work"
}

# debian_source NAME=VERSION FOLDER: with lists of its own, as the system's may lack those of sources. They name the servers that
# the system takes Debian's packages from.
debian_source() {
  mkdir -p "$2/lists/partial"
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u >"$2/sources.list"
  local options=(-o "Dir::Etc::SourceList=$2/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$2/lists" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update && (cd "$2" && apt-get "${options[@]}" source --download-only "$1" && tar -xzf ./*.orig.tar.gz)
}

compile_protobuf() {
  "$venv/bin/cmake" -S "$(echo "$1"/protobuf-*/)" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_VISIBILITY_PRESET=hidden -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF &&
    "$venv/bin/cmake" --build "$1/build" --target libprotobuf
}

# --- Packages that torch and transformers must not find by themselves, in folders of their own --------------------------

torchvision_folder() { printf '%s/torchvision-%s' "$cache" "$TORCHVISION"; }
module_test_folder() { printf '%s/module-test-%s' "$cache" "$(printf '%s' "$PYTHON_MODULE_TEST" | sha256sum | cut -c1-12)"; }

scan_test_folder() { printf '%s/scan-test-%s' "$cache" "$(printf '%s' "$PYTHON_SCAN_TEST" | sha256sum | cut -c1-12)"; }
spark_test_folder() { printf '%s/spark-test-%s' "$cache" "$(printf '%s' "$PYTHON_SPARK_TEST" | sha256sum | cut -c1-12)"; }

zoo_folder() { printf '%s/zoo-%s' "$cache" "$(printf '%s' "$PYTHON_ZOO" | sha256sum | cut -c1-12)"; }

# packages_apart FOLDER NAME==VERSION...
packages_apart() {
  local target=$1
  shift
  if [ -d "$target" ]; then return; fi
  say "installing Python packages:" "$@"
  rm -rf "$target.new"
  pip_install --no-deps --target "$target.new" "$@"
  mv "$target.new" "$target"
}

# --- What each purpose needs -----------------------------------------------------------------------------------------

setup_packages() {
  python3 -c 'import ensurepip' 2>/dev/null || build_packages+=(python3-venv)
  debian_packages "${build_packages[@]}" "$@"
}

# All of Debian's packages come first, so that whoever isn't root is told once.
setup_program() {
  setup_packages "$@"
  create_environment
  python_packages build "cmake==$CMAKE"
  build_onnx
}

setup_build() {
  setup_program "$@"
  [ -n "$(prefix_torch)" ] || install_torch
}

install_nanobind() { python_packages module --no-deps "nanobind==$NANOBIND"; }

setup_module() {
  install_nanobind
  build_protobuf
}

setup_wheel() {
  setup_program "${module_packages[@]}"
  setup_module
  python_packages wheel --no-deps $PYTHON_WHEEL
}

setup_models() {
  setup_build "$@"
  install_torch
  python_packages numpy "numpy==$NUMPY"
  python_packages models --no-deps $PYTHON_MODELS
}

# The libraries are built while Python's packages are installed: one waits for cores, the other for the network and the disk.
setup_test() {
  setup_packages "${browser_packages[@]}" "${module_packages[@]}" "$@"
  create_environment
  python_packages build "cmake==$CMAKE"
  (build_onnx; build_protobuf) &
  local libraries=$!
  install_test_packages
  wait "$libraries" || fail "onnx or protobuf could not be built"
}

install_test_packages() {
  install_torch
  install_nanobind
  python_packages numpy "numpy==$NUMPY"
  python_packages models --no-deps $PYTHON_MODELS
  python_packages onnx "onnx==$ONNX" "onnxruntime==$ONNXRUNTIME"
  python_packages engines --no-deps "openvino==$OPENVINO"
  python_packages test --no-deps $PYTHON_TEST $PYTHON_BROWSER $PYTHON_CORPUS "torchao==$TORCHAO"
  python_packages ci --no-deps $PYTHON_CI
  install_clang_format
  packages_apart "$(torchvision_folder)" "torchvision==$TORCHVISION" "pillow==$PILLOW"
  # shellcheck disable=SC2086
  packages_apart "$(module_test_folder)" $PYTHON_MODULE_TEST
  # shellcheck disable=SC2086
  packages_apart "$(scan_test_folder)" $PYTHON_SCAN_TEST
}

setup_scan() {
  setup_test "${java_packages[@]}"
  # shellcheck disable=SC2086
  packages_apart "$(spark_test_folder)" $PYTHON_SPARK_TEST
}

setup_zoo() {
  setup_test
  # shellcheck disable=SC2086
  packages_apart "$(zoo_folder)" $PYTHON_ZOO
}

setup_fuzz() {
  setup_build "${fuzz_packages[@]}"
}

install_clang_format() { python_packages format --no-deps "clang-format==$CLANG_FORMAT"; }

setup_format() {
  create_environment
  install_clang_format
}

setup_tidy() {
  setup_test "${tidy_packages[@]}"
}

purpose=${1:-build}
torch_site=$(active_torch)
venv="$cache/$(environment_name)"
case "$purpose" in
  paths)
    printf '%s=%s\n' cache "$cache" environment "$venv" torch "$(torch_folder)" onnx "$(onnx_folder)" \
      protobuf "$(protobuf_folder)" torchvision "$(torchvision_folder)" module_test "$(module_test_folder)" \
      scan_test "$(scan_test_folder)" spark_test "$(spark_test_folder)" zoo "$(zoo_folder)"
    ;;
  packages) setup_packages "${module_packages[@]}" ;;   # the cache is left to who builds
  program | build | wheel | models | test | scan | zoo | fuzz | format | tidy)
    mkdir -p "$cache"
    # One set-up at a time; a second one waits, and then finds everything done.
    exec 9>"$cache/lock"
    flock --nonblock 9 || { say "waiting for another set-up to finish"; flock 9; }
    "setup_$purpose"
    ;;
  *) fail "unknown purpose '$purpose'; the head of tools/setup.sh lists them" ;;
esac
