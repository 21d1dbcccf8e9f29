"""The cases of layers_*.py as files: each module traced or scripted once, with its inputs and what PyTorch computes from them.

A folder `<cache>/layers/<module>-<hash>` holds `<case>.pt` and cases.pickle. The hash is that of the file, of the files beside it that it
imports, and of the versions of torch and torchvision: what didn't change is never scripted again, and needs no torch to be compared.
"""
import ast, dataclasses, fcntl, hashlib, importlib, os, pathlib, pickle, shutil, sys

HERE = pathlib.Path(__file__).parent
FOLDERS = (HERE, HERE.parent / "models")
NO_SOURCES = {"layer_cases"}   # FORMAT stands for it
KEPT = 3                      # states of a file
FORMAT = 2                    # raise it when something else is stored of a case


@dataclasses.dataclass
class Stored:
    """A case without torch."""
    specs: list
    opsets: list           # at which it converts; None: script_outcomes.tsv says it
    tolerance: tuple
    refused: str
    needs: str
    runs: list
    zeros: list
    untried: list
    runs_of: list          # (inputs, results or why PyTorch gave none) of each set


def sources(file, found=None):
    """The file and those beside it that it imports, directly or not."""
    found = {} if found is None else found
    found[file.name] = file.read_bytes()
    for node in ast.walk(ast.parse(found[file.name])):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            for other in (folder / f"{name}.py" for folder in FOLDERS):
                if name not in NO_SOURCES and other.exists() and other.name not in found:
                    sources(other, found)
    return found


def key(module):
    import importlib.metadata
    parts = sources(HERE / f"{module}.py")
    digest = hashlib.sha256(f"{FORMAT} {importlib.metadata.version('torch')} {os.path.basename(os.environ.get('COMPATCHECK_TORCHVISION', ''))}".encode())
    for name, text in sorted(parts.items()):
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def modules():
    return sorted(file.stem for file in HERE.glob("layers_*.py"))


def make(module, folder):
    import layer_cases
    layer_cases.settle()
    made = importlib.import_module(module)
    stored = {name: layer_cases.stored(name, case, folder) for name, case in made.cases().items()}
    for name, case in getattr(made, "uncompared", dict)().items():
        stored[name] = layer_cases.stored(name, case, folder, compared=False)
    (folder / "cases.pickle").write_bytes(pickle.dumps(stored))


def prepared(module, cache):
    """The folder of a module's cases, made if it isn't there."""
    store = pathlib.Path(cache) / "layers"
    store.mkdir(parents=True, exist_ok=True)
    folder = store / f"{module}-{key(module)}"
    with open(store / f"{module}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "cases.pickle").exists():
            new = store / f"{folder.name}.new"
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            make(module, new)
            new.rename(folder)
        os.utime(folder)
        states = sorted(store.glob(f"{module}-????????????????"), key=lambda state: state.stat().st_mtime)
        for old in states[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    return folder


def cases(module, cache):
    """The folder and name → Stored."""
    folder = prepared(module, cache)
    return folder, pickle.loads((folder / "cases.pickle").read_bytes())
