#!/usr/bin/env python3
"""--write-baseline replaces what its file has of the models that the run judged, and keeps the rest: runs that read no model, that failed to
read some, that had a shard or what git says has changed, and runs into a file that another run made."""
import argparse, json, os, pathlib, shutil, subprocess, sys, tempfile

MODELS = pathlib.Path(__file__).resolve().parent / "models"


class Folder:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        shutil.copy(MODELS / "warp.ir", self.folder / "a.ir")
        shutil.copy(MODELS / "warp.ir", self.folder / "b.ir")

    def run(self, *words, expect=0, file="known.json"):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("COMPATCHECK_", "GIT_"))}
        result = subprocess.run([self.program, *words, "--no-config", "--opset", "16", "--write-baseline", file, "-q"], cwd=self.folder, env=kept,
                                capture_output=True, text=True, timeout=120)
        assert result.returncode == expect, (words, result.returncode, result.stderr)
        return result.stderr

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@example.com", *words], cwd=self.folder, check=True, capture_output=True)

    def text(self, file="known.json"):
        return (self.folder / file).read_text()

    def models(self, file="known.json"):
        return [entry["model"] for entry in json.loads(self.text(file))["entries"]]


def check(folder):
    both = ["a.ir", "a.ir", "b.ir", "b.ir"]
    folder.run("a.ir", "./a.ir", "b.ir")
    whole = folder.text()
    assert folder.models() == both and all(entry["nodes"] == 1 for entry in json.loads(whole)["entries"]), whole

    assert "isn't written: no model could be checked" in folder.run("gone.ir", expect=3)
    for words, code in ((["a.ir"], 0), (["gone.ir", "a.ir"], 3), (["a.ir", "b.ir", "--shard", "2/2"], 0), (["a.ir", "--shard", "2/2"], 0)):
        folder.run(*words, expect=code)
        assert folder.text() == whole, words
    folder.git("init", "-q")
    folder.git("add", ".")
    folder.git("commit", "-qm", "models")
    folder.run("a.ir", "b.ir", "--changed-since", "HEAD")
    assert folder.text() == whole

    shutil.copy(MODELS / "relu.ir", folder.folder / "a.ir")   # mended
    folder.run("a.ir")
    assert folder.models() == both[2:], folder.text()

    assert "isn't written" in folder.run("gone.ir", expect=3, file="new.json")
    assert not (folder.folder / "new.json").exists()
    (folder.folder / "new.json").touch()
    folder.run("a.ir", "--baseline", "known.json", file="new.json")
    assert folder.text("new.json") == folder.text()
    (folder.folder / "new.json").write_text("<<<<<<< HEAD\n")
    assert "new.json: line 1, column 1: no JSON" in folder.run("b.ir", expect=2, file="new.json")
    assert folder.text("new.json") == "<<<<<<< HEAD\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check(Folder(options.program, folder))
    print("1 passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
