#!/usr/bin/env python3
"""The Jenkinsfile: its shell script run with its environment; what its steps publish is there. Nothing here reads Groovy: the test knows how
the file is written."""
import argparse, os, pathlib, re, subprocess, tempfile

import samples

FILE = samples.ROOT / ".ci/Jenkinsfile"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    program = parser.parse_args().program
    failures = samples.Failures()
    text = FILE.read_text()
    code = re.sub(r"//.*", "", text)
    failures.equal([code.count(mark) for mark in "{(["], [code.count(mark) for mark in "})]"], "brackets")
    script = re.search(r"sh '''\n(.*?)'''", text, re.S)[1].replace("\\\\", "\\")   # as Groovy reads it
    samples.shellcheck(failures, script, "sh", FILE.name)
    variables = dict(re.findall(r"^ +(\w+) = '([^']*)'", text, re.M))
    published = re.findall(r"(?:testResults|pattern|artifacts): '([^']+)'", text)
    failures.equal(len(published), 3, "files that are published")

    with tempfile.TemporaryDirectory() as folder:
        workspace = pathlib.Path(folder) / "workspace"
        samples.repository(workspace, samples.CONVERTS)
        environment = samples.environment(**variables)
        environment["PATH"] = f"{program.parent}:{environment['PATH']}"
        for expected in 0, 1:
            result = subprocess.run(["sh", "-xe", "-c", script], cwd=workspace, capture_output=True, text=True, env=environment)
            failures.equal(result.returncode, expected, f"exit code\n{result.stdout}{result.stderr}")
            for file in published:
                failures.expect((workspace / file).is_file(), f"{file} is written")
                (workspace / file).unlink(missing_ok=True)
            samples.shutil.copy(pathlib.Path(os.environ["COMPATCHECK_MODELS"]) / samples.CONVERTS_NOT, workspace / "models")
    failures.exit()


if __name__ == "__main__":
    main()
