"""Imports torchvision's wheel beside a torch without CUDA.

PyPI's wheel is the CUDA build: its kernels for the CPU are there, but its library names three of CUDA's. Empty ones of those names,
with the functions that it asks for, let it load; nothing on the CPU calls them.
"""
import ctypes, os, pathlib, subprocess, sys, tempfile

import torch

LIBRARIES = ("libcudart.so", "libc10_cuda.so", "libtorch_cuda.so")


def required_symbols(library):
    """{CUDA library: symbols}, of those that the library needs."""
    dynamic = subprocess.run(["readelf", "-d", "--wide", library], check=True, capture_output=True, text=True).stdout
    needed = [line.split("[")[1].split("]")[0] for line in dynamic.splitlines() if "(NEEDED)" in line]
    symbols = {name: [] for name in needed if name.startswith(LIBRARIES)}
    undefined = subprocess.run(["nm", "-D", "--undefined-only", library], check=True, capture_output=True, text=True).stdout
    for line in undefined.splitlines():
        symbol, _, version = line.split()[-1].partition("@")
        if version in symbols:
            symbols[version].append(symbol)
        elif "4cuda" in symbol and "libc10_cuda.so" in symbols:
            symbols["libc10_cuda.so"].append(symbol)
    return symbols


def stand_in(name, symbols, folder):
    """A library whose functions all give 0."""
    source, versions, made = folder / f"{name}.c", folder / f"{name}.map", folder / name
    source.write_text("".join(f"long {symbol}(void) {{ return 0; }}\n" for symbol in symbols))
    versions.write_text(f"{name} {{ global: *; }};\n")
    options = [f"-Wl,--version-script={versions}"] if name.startswith("libcudart") else []
    subprocess.run(["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{name}", *options, "-o", made, source], check=True)
    ctypes.CDLL(str(made), mode=ctypes.RTLD_GLOBAL)


def load_torchvision():
    """From the folder that COMPATCHECK_TORCHVISION names."""
    folder = os.environ.get("COMPATCHECK_TORCHVISION", "")
    library = pathlib.Path(folder) / "torchvision" / "_C.so"
    if not folder or not library.is_file():
        raise ImportError("COMPATCHECK_TORCHVISION doesn't name a folder with torchvision; `tools/setup.sh test` makes it, "
                          "`tools/setup.sh paths` tells where")
    if torch.version.cuda is None:
        with tempfile.TemporaryDirectory() as temporary:
            for name, symbols in required_symbols(library).items():
                stand_in(name, symbols, pathlib.Path(temporary))
    sys.path.append(folder)
    import torchvision
    if not torchvision.extension._has_ops():
        raise ImportError("torchvision's operators could not be loaded; TORCHVISION_WARN_WHEN_EXTENSION_LOADING_FAILS=1 tells why")
    return torchvision
