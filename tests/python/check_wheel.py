#!/usr/bin/env python3
"""The wheel alone: what it holds and needs, and that it works in a fresh environment without torch.

    check_wheel.py FILE.whl
"""
import importlib.util, os, pathlib, re, subprocess, sys, sysconfig, tempfile, venv, zipfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_BYTES = 20_000_000
USE = f"""
import importlib.metadata, importlib.util, sys
import compatcheck
assert not importlib.util.find_spec("torch") and not importlib.util.find_spec("numpy")
for model in {[str(HERE / "net.pt2"), str(HERE / "net.pt")]!r}:
    report = compatcheck.check(model)
    assert report.convertible and report.to_html()
assert compatcheck.convert({str(HERE / "net.pt2")!r}).onnx
distribution = importlib.metadata.distribution("compatcheck")
assert distribution.version == compatcheck.__version__
assert {{"pytest11"}} == {{point.group for point in distribution.entry_points}}
assert "verify" in distribution.metadata.get_all("Provides-Extra")
"""


def output(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout


def check_contents(wheel, folder):
    assert wheel.stat().st_size < MOST_BYTES, f"{wheel.name} has {wheel.stat().st_size} bytes, more than {MOST_BYTES}"
    zipfile.ZipFile(wheel).extractall(folder)
    binaries = [file for file in folder.rglob("*") if file.is_file() and file.open("rb").read(4) == b"\x7fELF"]
    assert len(binaries) >= 2, binaries
    for binary in binaries:
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", binary)))
        if binary.name != "compatcheck-torchscript":   # which is for those who have torch
            assert needed <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, (binary.name, needed)
    tag = re.search(r'"(manylinux_\w+)"', output(pathlib.Path(sys.executable).with_name("auditwheel"), "show", wheel))
    assert tag, "auditwheel finds no tag of manylinux"
    return tag[1]


def check_installed(wheel, folder):
    venv.create(folder, with_pip=True)
    # None of the caller's environment: neither torch nor a helper program is found through it.
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "VIRTUAL_ENV": str(folder), "LANG": "C.UTF-8"}
    python, program = folder / "bin/python", folder / "bin/compatcheck"
    output(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel, env=environment)
    output(python, "-I", "-c", USE, env=environment)
    for model in ("net.pt2", "net.pt"):
        assert "  CONVERTIBLE" in output(program, HERE / model, env=environment)
    output(program, "convert", HERE / "net.pt2", "-o", folder / "net.onnx", env=environment)
    assert (folder / "net.onnx").stat().st_size > 100 and (folder / "share/man/man1/compatcheck-check.1").is_file()
    check_verify(folder, program, environment)
    typed = next(folder.glob("lib/python3*/site-packages/compatcheck"))
    assert (typed / "py.typed").is_file() and (typed / "_core.pyi").is_file() and (typed / "licenses/onnx").is_file()


def check_verify(folder, program, environment):
    """With a torch and an ONNX Runtime beside it, `verify` needs nothing else."""
    if not importlib.util.find_spec("torch"):
        return print("verify isn't tried: this Python has no torch")
    packages = next(folder.glob("lib/python3*/site-packages"))
    for name in ("torch", "onnxruntime"):
        (packages / name).symlink_to(importlib.util.find_spec(name).submodule_search_locations[0])
    (packages / "what_torch_needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for model in ("net.pt2", "net.pt"):
        assert "  VERIFIED" in output(program, "verify", HERE / model, "--runs", "1", env=environment)


def main():
    wheel = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        tag = check_contents(wheel, pathlib.Path(name) / "contents")
        check_installed(wheel, pathlib.Path(name) / "environment")
    print(f"{os.path.relpath(wheel)}: {wheel.stat().st_size / 1e6:.1f} MB, {tag}; works in a fresh environment")


if __name__ == "__main__":
    main()
