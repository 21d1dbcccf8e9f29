#!/usr/bin/env python3
"""The GitLab template: a job that extends it, its scripts run in one shell as GitLab's runner runs them."""
import argparse, json, os, pathlib, subprocess, tempfile
import xml.etree.ElementTree as ElementTree

import samples

FILE = samples.ROOT / ".ci/gitlab.yml"


def scripts(job):
    return "\n".join(job["before_script"] + job["script"])


def check_file(failures):
    template = samples.read_yaml(FILE.read_text())
    samples.valid(failures, template | {"models": {"extends": ".compatcheck"}}, "gitlab-ci", FILE.name)
    for shell in "sh", "bash":   # whichever the image has
        samples.shellcheck(failures, "set -e\n" + scripts(template[".compatcheck"]), shell, f"{FILE.name} in {shell}")
    return template[".compatcheck"]


def to_mend(file):
    return [entry for entry in json.loads(file.read_text()) if entry["severity"] != "info"]


class Runner:
    def __init__(self, job, checkout, project):
        self.job, self.checkout, self.project = job, checkout, project
        self.commands = project.parent / "commands"
        self.commands.mkdir()
        (project.parent / "temporary").mkdir()   # what the scripts make is gone with it
        (self.commands / "apt-get").write_text("#!/bin/sh\n")
        (self.commands / "apt-get").chmod(0o755)

    def run(self, shell="bash", path="", **variables):
        script = "set -e\n" + scripts(self.job)
        values = self.job["variables"] | {"COMPATCHECK_REPOSITORY": self.checkout.as_uri(), "COMPATCHECK_REVISION": "main"} | variables
        environment = samples.environment(CI_PROJECT_DIR=str(self.project), CALLS=str(self.project.parent / "calls"), TMPDIR=str(self.project.parent / "temporary"), **values)
        environment["PATH"] = f"{path}{self.commands}:{environment['PATH']}"
        result = subprocess.run([shell, "-c", script], cwd=self.project, capture_output=True, text=True, env=environment)
        return result.returncode, result.stdout + result.stderr

    def calls(self):
        file = self.project.parent / "calls"
        text = file.read_text() if file.exists() else ""
        file.write_text("")
        return text.split()


def check_runs(failures, job, folder, program):
    checkout = samples.fake_checkout(folder / "compatcheck", program)
    samples.git(checkout, "init", "--quiet", "--initial-branch", "main")
    samples.commit(checkout)
    project = folder / "project"
    first = samples.repository(project, samples.CONVERTS)
    runner = Runner(job, checkout, project)
    reports = job["artifacts"]["reports"]

    code, text = runner.run()
    failures.equal((code, runner.calls()), (0, ["packages", "make"]), f"the wheel is built, the model converts\n{text}")
    failures.equal(to_mend(project / reports["codequality"]), [], "Code Quality")
    code, text = runner.run("sh")
    failures.equal((code, runner.calls()), (0, ["packages"]), f"the wheel comes from the cache\n{text}")
    (checkout / "README.md").write_text("new\n")
    samples.commit(checkout)
    code, text = runner.run()
    failures.equal((code, runner.calls()), (0, ["packages", "make"]), f"another revision\n{text}")
    kept = list((project / ".compatcheck").glob("wheel-*/*.whl"))
    failures.equal(len(kept), 1, "wheels that are kept")
    code, text = runner.run(COMPATCHECK_PACKAGE=str(kept[0]))
    failures.equal((code, runner.calls()), (0, []), f"a wheel that the variable names is installed without a build\n{text}")

    image = f"{program.parent}:"
    samples.shutil.copy(pathlib.Path(os.environ["COMPATCHECK_MODELS"]) / samples.CONVERTS_NOT, project / "models")
    code, text = runner.run(path=image)
    failures.equal((code, runner.calls()), (1, []), f"the image has the program; a model doesn't convert\n{text}")
    quality = to_mend(project / reports["codequality"])
    failures.equal({entry["location"]["path"] for entry in quality}, {f"models/{samples.CONVERTS_NOT}"}, "files of Code Quality")
    failures.equal(len({entry["fingerprint"] for entry in quality}), len(quality), "fingerprints of Code Quality")
    suites = ElementTree.parse(project / reports["junit"]).getroot()
    failures.equal([suite.get("failures") != "0" for suite in suites], [False, True], "JUnit's suites")
    for artifact in job["artifacts"]["paths"]:
        failures.expect((project / artifact).exists(), f"{artifact} is written")

    code, text = runner.run(path=image, COMPATCHECK_FAIL_ON="never", COMPATCHECK_MODELS=f"models/{samples.CONVERTS}\nmodels/{samples.CONVERTS_NOT}")
    failures.equal(code, 0, f"options are variables\n{text}")
    code, text = runner.run(path=image, CI_MERGE_REQUEST_DIFF_BASE_SHA=first)
    failures.expect(code == 1 and samples.CONVERTS_NOT in text and samples.CONVERTS not in text, f"a merge request that adds a model\n{text}")
    samples.commit(project)
    code, text = runner.run(path=image, CI_MERGE_REQUEST_DIFF_BASE_SHA=samples.git(project, "rev-parse", "HEAD"))
    failures.equal(code, 0, f"a merge request that changes no model\n{text}")
    code, text = runner.run(path=image, COMPATCHECK_MODELS="absent")
    failures.equal(code, 3, f"no model\n{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    failures = samples.Failures()
    job = check_file(failures)
    if not failures.count:
        samples.leave_on_other_days("gitlab")
    with tempfile.TemporaryDirectory() as folder:
        check_runs(failures, job, pathlib.Path(folder), parser.parse_args().program)
    failures.exit()


if __name__ == "__main__":
    main()
