"""What the tests of CI files share: how their scripts are held against shellcheck, their YAML against public schemas, and a repository
with models to check."""
import importlib.metadata, json, os, pathlib, shutil, subprocess, sys, zipfile

import jsonschema, yaml

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONVERTS, CONVERTS_NOT = "geometry-traced.pt", "pyramid-scripted.pt"   # at opset 17; the first not at 8
NOBODY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}


def leave_on_other_days(name):
    """The runs of these two take long, for they install a package again and again, and change only with their file."""
    if name not in part_of_the_day(["github", "gitlab"], "ci", 2):
        print(f"{name} has another day")
        sys.exit(0)


class Failures:
    """Says what is wrong, and how many things were."""

    def __init__(self):
        self.count = self.checks = 0

    def expect(self, holds, what):
        self.checks += 1
        if not holds:
            self.count += 1
            print(f"FAILED: {what}")

    def equal(self, actual, expected, what):
        self.expect(actual == expected, f"{what}: {actual!r} instead of {expected!r}")

    def exit(self):
        print(f"{self.checks} checks, {self.count} failed")
        sys.exit(bool(self.count))


def environment(**more):
    """As on a CI's machine: no options of ours, no colours, no settings of git."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("COMPATCHECK_", "GIT_", "GITHUB_", "CI_")) or k in ("COMPATCHECK_HELPER", "COMPATCHECK_LIBTORCH")}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    return kept | NOBODY | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"} | more


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True, env=environment()).stdout.strip()


def commit(folder, message="models"):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def repository(folder, *models):
    """A repository whose models/ has these, and nothing else."""
    (folder / "models").mkdir(parents=True)
    for model in models:
        shutil.copy(pathlib.Path(os.environ["COMPATCHECK_MODELS"]) / model, folder / "models")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    return commit(folder)


def shellcheck(failures, script, shell, name):
    program = pathlib.Path(sys.executable).parent / "shellcheck"
    result = subprocess.run([program, "--shell", shell, "--format", "gcc", "-"], input=script, capture_output=True, text=True)
    failures.equal((result.returncode, result.stdout + result.stderr), (0, ""), f"shellcheck of {name}")


def valid(failures, document, schema, name):
    """Against a schema of SchemaStore or GitLab, as check-jsonschema carries them."""
    file = importlib.metadata.distribution("check-jsonschema").locate_file(f"check_jsonschema/builtin_schemas/vendor/{schema}.json")
    try:
        jsonschema.validate(document, json.loads(pathlib.Path(file).read_text()))
        failures.expect(True, name)
    except jsonschema.ValidationError as error:
        failures.expect(False, f"{name} is no {schema}: {error.json_path}: {error.message}")


def read_yaml(text):
    """`on:` is a key of GitHub, not YAML 1.1's true."""
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.yaml_implicit_resolvers = {letter: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:bool" or letter not in "oOyYnN"]
                                      for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
    return yaml.load(text, loader)


def fake_wheel(file, program):
    """A wheel whose program is the one that was built already."""
    name = "compatcheck-0.1.0"
    files = {f"{name}.dist-info/METADATA": "Metadata-Version: 2.1\nName: compatcheck\nVersion: 0.1.0\n",
             f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             f"{name}.data/scripts/compatcheck": f'#!/bin/sh\nexec {program} "$@"\n'}
    files[f"{name}.dist-info/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{name}.dist-info/RECORD"])
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o100755 << 16   # the script is executable
            archive.writestr(entry, text)
    return file


def fake_checkout(folder, program):
    """compatcheck's own repository, whose `make wheel` takes a moment, and counts its calls."""
    wheel = fake_wheel(folder / "tests/compatcheck-0.1.0-py3-none-any.whl", program)
    (folder / "tools").mkdir()
    for name in ("CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "cmake", "include", "mappings", "python", "src"):
        path = folder / name
        path.write_text("\n") if "." in name else path.mkdir()
    (folder / "tools/setup.sh").write_text('#!/bin/sh\necho "$@" >>"$CALLS"\n')
    (folder / "tools/setup.sh").chmod(0o755)
    (folder / "Makefile").write_text(f"wheel:\n\t@echo make >>$(CALLS)\n\t@mkdir -p dist\n\t@cp tests/{wheel.name} dist/\n")
    return folder
