#!/usr/bin/env python3
"""docs/ci.md and docs/configuration.md: the files that they show are valid. tests/docs runs their commands."""
import argparse, pathlib, re, subprocess, tempfile

import samples

SCHEMAS = {".github/workflows/models.yml": "github-workflows", ".gitlab-ci.yml": "gitlab-ci"}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    program = parser.parse_args().program
    failures = samples.Failures()
    inputs = samples.read_yaml((samples.ROOT / ".ci/github/action.yml").read_text())["inputs"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def compatcheck(*words):
            result = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, env=samples.environment())
            return result.returncode, result.stderr

        for page in sorted((samples.ROOT / "docs").glob("*.md")):
            if page.name not in ("ci.md", "configuration.md"):
                continue
            documents = list(blocks(page, "yaml"))
            failures.expect(documents, f"{page.name}: holds no YAML")
            for text in documents:
                file = text.splitlines()[0].removeprefix("# ")
                document = samples.read_yaml(text)
                if file in SCHEMAS:
                    samples.valid(failures, document, SCHEMAS[file], f"{page.name}: {file}")
                elif file == ".pre-commit-config.yaml":
                    (folder / file).write_text(text)
                    result = subprocess.run([samples.sys.executable, "-m", "pre_commit", "validate-config", folder / file], capture_output=True, text=True)
                    failures.equal((result.returncode, result.stdout), (0, ""), f"{page.name}: {file}")
                else:
                    (folder / file).write_text(text)
                    failures.equal(compatcheck("check", "model.pt", "--print-config"), (0, ""), f"{page.name}: {text}")
                    (folder / file).unlink()
                for job in document.get("jobs", {}).values():
                    given = {name for step in job["steps"] if step.get("uses", "").startswith("OWNER/") for name in step["with"]}
                    failures.expect(given and given <= set(inputs), f"{page.name}: inputs {given}")
    failures.exit()


if __name__ == "__main__":
    main()
