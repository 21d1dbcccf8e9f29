#!/usr/bin/env python3
"""Archives of the files that tests read: making them anew takes minutes, unpacking them seconds.

    fixtures.py unpack CACHE    what the cache lacks
    fixtures.py pack CACHE      tests/fixtures/*.tar.xz anew, of what the cache has for today's sources
    fixtures.py check CACHE     fails if much of what the archives hold is of older sources

What an archive holds of older sources is made anew when it is needed, so an archive may be older than the sources. A corpus, and the
cases of a file layers_*.py, are in a folder with a hash of their sources; models and exported programs have stamps in their index.
"""
import fcntl, hashlib, lzma, os, pathlib, re, shutil, sys, tarfile

HERE = pathlib.Path(__file__).parent
ARCHIVES = HERE.parent / "fixtures"
MOST = 8 << 20     # bytes of a folder of layers; the weights of larger ones are random, and don't compress
MOST_OF_FILE = 600_000   # the same for a model; what is missing is made
MOST_STALE = 0.3

sys.path.insert(0, str(HERE.parent / "convert"))


def units(cache):
    """Archive → the folders of the cache that it holds whole, as they are named today."""
    import layer_store
    generator = hashlib.sha256((HERE.parent / "corpus" / "opinfo_corpus.py").read_bytes()).hexdigest()[:12]
    layers = [pathlib.Path("layers") / f"{module}-{layer_store.key(module)}" for module in layer_store.modules()]
    return {"models": [pathlib.Path("models")], "exported": [pathlib.Path("exported")],
            "corpus": [folder.relative_to(cache) for folder in sorted(cache.glob(f"corpus-*-{generator}-*")) if re.fullmatch(r".*-(part|exported-part)", folder.name)],
            "layers": [folder for folder in layers if (cache / folder).is_dir() and size_of(cache / folder) < MOST]}


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def unit_of(name):
    """The folder that is unpacked whole or not at all."""
    parts = pathlib.PurePath(name).parts
    return pathlib.Path(*parts[:2 if parts[0] == "layers" else 1])


def unpack(cache):
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "fixtures.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for archive in sorted(ARCHIVES.glob("*.tar.xz")):
            stamp = cache / "fixtures" / f"{archive.name}-{hashlib.sha256(archive.read_bytes()).hexdigest()[:16]}"
            if stamp.exists():
                continue
            new = cache / "fixtures.new"
            shutil.rmtree(new, ignore_errors=True)
            with tarfile.open(archive) as packed:
                packed.extractall(new, filter="data")
            found = {unit_of(file.relative_to(new)) for file in new.rglob("*") if file.is_file()}
            for unit in found:
                if not (cache / unit).exists():
                    (cache / unit).parent.mkdir(parents=True, exist_ok=True)
                    (new / unit).rename(cache / unit)
            shutil.rmtree(new)
            stamp.parent.mkdir(exist_ok=True)
            stamp.touch()


def plain(member):
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def pack(cache):
    ARCHIVES.mkdir(exist_ok=True)
    held = units(cache)
    if empty := [name for name, folders in held.items() if not folders]:
        sys.exit(f"nothing is made of {', '.join(empty)}; `make fixtures` makes them first")
    for name, folders in held.items():
        file = ARCHIVES / f"{name}.tar.xz"
        with lzma.open(file, "wb", preset=9) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
            # Files that are alike stand side by side.
            most = MOST_OF_FILE if name in ("models", "exported") else MOST
            files = [path for folder in folders for path in (cache / folder).rglob("*") if path.is_file() and path.stat().st_size < most]
            for path in sorted(files, key=lambda path: (path.suffix, str(path))):
                archive.add(path, str(path.relative_to(cache)), filter=plain)
        print(f"{file.relative_to(HERE.parents[1])}: {len(folders)} folders, {len(files)} files, {file.stat().st_size / 1e6:.1f} MB")


def check(cache):
    stale = []
    for name in ("corpus", "layers"):
        with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
            held = {unit_of(member) for member in archive.getnames()}
        today = set(units(cache)[name])
        stale += [f"{name}: {unit}" for unit in sorted(held - today)] if len(held - today) > MOST_STALE * len(held) else []
    print(*stale, sep="\n")
    if stale:
        sys.exit("the archives are old; `make fixtures` packs them anew")


if __name__ == "__main__":
    {"unpack": unpack, "pack": pack, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
