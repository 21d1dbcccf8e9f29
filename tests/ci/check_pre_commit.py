#!/usr/bin/env python3
"""The hook, run by pre-commit itself in a repository with models."""
import argparse, os, pathlib, subprocess, sys, tempfile

import samples

FILE = samples.ROOT / ".pre-commit-hooks.yaml"
EXPORTED = samples.ROOT / "tests/cli/models/counted.pt2"


class PreCommit:
    def __init__(self, folder, program):
        self.environment = samples.environment(PRE_COMMIT_HOME=str(folder / "home"), PRE_COMMIT_COLOR="never")
        self.environment["PATH"] = f"{program.parent}:{self.environment['PATH']}"

    def run(self, folder, *words):
        result = subprocess.run([sys.executable, "-m", "pre_commit", *words], cwd=folder, capture_output=True, text=True, env=self.environment)
        return result.returncode, result.stdout + result.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    program = parser.parse_args().program
    failures = samples.Failures()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pre_commit = PreCommit(folder, program)
        failures.equal(pre_commit.run(folder, "validate-manifest", str(FILE)), (0, ""), "pre-commit's own judgement of the file")

        hooks = folder / "hooks"   # as a clone of ours
        hooks.mkdir()
        samples.shutil.copy(FILE, hooks)
        samples.git(hooks, "init", "--quiet", "--initial-branch", "main")
        revision = samples.commit(hooks)

        models = folder / "models"
        samples.repository(models, samples.CONVERTS)
        (models / "notes.pt.txt").write_text("graph(\n")
        samples.git(models, "add", "--all")
        code, text = pre_commit.run(models, "try-repo", str(hooks), "compatcheck", "--all-files", "--verbose")
        failures.expect(code == 0 and text.count("CONVERTIBLE") == 1, f"a model that converts, and a file that is none\n{text}")

        samples.shutil.copy(EXPORTED, models / "models")
        samples.git(models, "add", "--all")
        code, text = pre_commit.run(models, "try-repo", str(hooks), "compatcheck", "--all-files", "--verbose")
        failures.expect(code == 1 and EXPORTED.name in text, f"an exported program that doesn't convert\n{text}")
        samples.git(models, "rm", "--quiet", "--force", f"models/{EXPORTED.name}")

        (models / "compatcheck.yaml").write_text("opset: 17\n")
        (models / ".pre-commit-config.yaml").write_text(
            f"repos:\n  - repo: {hooks.as_uri()}\n    rev: {revision}\n    hooks:\n      - id: compatcheck\n        args: [--quiet]\n")
        failures.equal(pre_commit.run(models, "validate-config"), (0, ""), "the configuration")
        samples.shutil.copy(pathlib.Path(os.environ["COMPATCHECK_MODELS"]) / samples.CONVERTS_NOT, models / "models")
        samples.git(models, "add", "--all")
        code, text = pre_commit.run(models, "run")   # as `git commit` runs it: what is staged
        failures.expect(code == 1 and samples.CONVERTS_NOT in text and samples.CONVERTS not in text, f"a commit of a model that doesn't convert\n{text}")
        code, text = pre_commit.run(models, "run", "--all-files")
        failures.expect(code == 1 and text.count("NOT CONVERTIBLE") == 1, f"all files in one call\n{text}")
    failures.exit()


if __name__ == "__main__":
    main()
