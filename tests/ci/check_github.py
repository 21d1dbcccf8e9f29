#!/usr/bin/env python3
"""The composite action, run as GitHub's runner runs it: its steps in order, with their `if`, `env` and outputs; what uses another action is
left out, and stands for a cache that has nothing."""
import argparse, json, os, pathlib, re, subprocess, tempfile
import xml.etree.ElementTree as ElementTree

import samples

FILE = samples.ROOT / ".ci/github/action.yml"


def evaluate(text, inputs, steps):
    def value(match):
        context, name, *rest = match[1].split(".")
        return inputs[name] if context == "inputs" else steps.get(name, {}).get(rest[-1], "")
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", value, str(text))


def holds(condition, inputs, steps):
    """Conditions of the form A.B.C == 'text' or != 'text', joined by &&."""
    def holds_one(text):
        left, operator, right = re.fullmatch(r"([\w.-]+) ([!=]=) '([^']*)'", text).groups()
        return (evaluate("${{ " + left + " }}", inputs, steps) == right) == (operator == "==")
    return all(holds_one(text) for text in condition.split(" && "))


def outputs(file):
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


class Action:
    def __init__(self, checkout):
        self.checkout = checkout
        (checkout / ".ci/github").mkdir(parents=True)
        (checkout / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (checkout / "sudo").chmod(0o755)
        self.definition = samples.read_yaml(FILE.read_text())

    def run(self, workspace, given, cached="", installed=True, **more):
        """Exit code and output of the last step that ran, and the action's outputs. Where the program is installed, only its check runs."""
        inputs = {name: given.get(name, entry.get("default", "")) for name, entry in self.definition["inputs"].items()}
        steps = {"cache": {"cache-hit": cached}}
        with tempfile.TemporaryDirectory() as folder:
            temporary = pathlib.Path(folder)
            for step in self.definition["runs"]["steps"]:
                if "run" not in step or ("if" in step and not holds(step["if"], inputs, steps)) or (installed and step["name"] != "Check"):
                    continue
                script, output = temporary / "script.sh", temporary / "output"
                script.write_text(step["run"])
                output.write_text("")
                variables = {name: evaluate(value, inputs, steps) for name, value in step.get("env", {}).items()}
                variables["PATH"] = f"{self.checkout}:{os.environ['PATH']}"
                result = subprocess.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script], cwd=workspace, capture_output=True, text=True,
                                        env=samples.environment(GITHUB_ACTION_PATH=str(self.checkout / ".ci/github"), GITHUB_WORKSPACE=str(workspace),
                                                                GITHUB_OUTPUT=str(output), RUNNER_TEMP=str(self.checkout.parent),
                                                                CALLS=str(self.checkout / "calls"), **variables, **more))
                steps[step.get("id", "")] = outputs(output)
                if result.returncode:
                    break
        made = {name: evaluate(entry["value"], inputs, steps) for name, entry in self.definition["outputs"].items()}
        return result.returncode, result.stdout + result.stderr, made


def check_file(failures):
    definition = samples.read_yaml(FILE.read_text())
    samples.valid(failures, definition, "github-actions", FILE.name)
    for step in definition["runs"]["steps"]:
        script = step.get("run", "")
        failures.expect("${{" not in script, f"step {step.get('name')}: values reach a script by its environment alone")
        if script:
            samples.shellcheck(failures, "set -eo pipefail\n" + script, "bash", f"step {step['name']}")
    used = " ".join(str(step.get("env", "")) for step in definition["runs"]["steps"])
    for name in definition["inputs"]:
        failures.expect(f"inputs.{name} " in used, f"the input {name} is used")


def check_runs(failures, folder, program):
    action = Action(samples.fake_checkout(folder / "action", program))
    calls = action.checkout / "calls"
    workspace = folder / "workspace"
    first = samples.repository(workspace, samples.CONVERTS)

    summary = folder / "summary.md"
    code, text, made = action.run(workspace, {"models": "models"}, installed=False, GITHUB_STEP_SUMMARY=str(summary))
    failures.equal((code, made), (0, {"sarif": "compatcheck.sarif", "exit-code": "0"}), f"a model that converts\n{text}")
    failures.expect("::notice" in text and "::error" not in text, f"a notice says that it converts: {text}")
    failures.expect(samples.CONVERTS in summary.read_text(), "the step's summary names the model")
    failures.equal(calls.read_text().split(), ["packages", "make"], "the wheel is built")

    calls.write_text("")
    code, text, _ = action.run(workspace, {"models": "models"}, cached="true", installed=False)
    failures.equal((code, calls.read_text().split()), (0, ["packages"]), f"the wheel comes from the cache\n{text}")
    calls.write_text("")
    code, text, _ = action.run(workspace, {"models": "models", "package": str(next(action.checkout.glob("dist/*.whl")))}, installed=False)
    failures.equal((code, calls.read_text()), (0, ""), f"a wheel that the input names is installed without a build\n{text}")

    (workspace / "two words").mkdir()
    (workspace / "models" / samples.CONVERTS).rename(workspace / "two words" / samples.CONVERTS)
    models = f"two words/{samples.CONVERTS}\nmodels\n"
    samples.shutil.copy(pathlib.Path(os.environ["COMPATCHECK_MODELS"]) / samples.CONVERTS_NOT, workspace / "models")
    code, text, made = action.run(workspace, {"models": models, "junit": "a b.xml", "html": "report.html", "arguments": "--jobs=1\n\n--report=compat.jsonl\n"})
    failures.equal((code, made), (1, {"sarif": "compatcheck.sarif", "exit-code": "1"}), f"two models, of which one doesn't convert\n{text}")
    failures.expect(re.search(rf"^::error file=models/{samples.CONVERTS_NOT},line=1,title=CC005", text, re.M), f"errors are annotated: {text}")
    sarif = json.loads((workspace / "compatcheck.sarif").read_text())
    failures.equal([len(run["properties"]["models"]) for run in sarif["runs"]], [2], "models of the SARIF report")
    failures.equal(int(ElementTree.parse(workspace / "a b.xml").getroot().get("failures")) > 0, True, "JUnit has failures")
    failures.equal(len((workspace / "compat.jsonl").read_text().splitlines()), 2, "lines of the further report")
    failures.expect((workspace / "report.html").read_text().startswith("<!DOCTYPE html>"), "HTML is written")

    code, text, _ = action.run(workspace, {"models": "models", "fail-on": "never"})
    failures.equal(code, 0, f"fail-on\n{text}")
    code, text, _ = action.run(workspace, {"models": "two words", "opset": "8"})
    failures.equal(code, 1, f"opset: the model converts from 9\n{text}")
    code, text, made = action.run(workspace, {"models": "models", "opset": "99"})
    failures.equal((code, made), (2, {"sarif": "", "exit-code": "2"}), f"a wrong input; no SARIF is left from earlier\n{text}")
    code, text, made = action.run(workspace, {"models": "absent.pt", "sarif": ""})
    failures.equal((code, made), (3, {"sarif": "", "exit-code": "3"}), f"a model that isn't there\n{text}")
    code, text, _ = action.run(workspace, {"models": "two words\n$(touch hurt); `touch hurt` \"'"})
    failures.expect(code == 3 and not (workspace / "hurt").exists(), f"what is given is no shell script\n{text}")

    samples.commit(workspace)
    if os.geteuid() == 0:   # as in a container
        subprocess.run(["chown", "-R", "12345", workspace], check=True)
    code, text, _ = action.run(workspace, {"models": "models\ntwo words", "changed-since": first, "fail-on": "never"})
    failures.expect(code == 0 and f"models/{samples.CONVERTS_NOT}" in text, f"changed-since\n{text}")
    code, text, made = action.run(workspace, {"models": "models", "changed-since": "HEAD"})
    failures.equal(code, 0, f"nothing has changed\n{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    failures = samples.Failures()
    check_file(failures)
    if not failures.count:
        samples.leave_on_other_days("github")
    with tempfile.TemporaryDirectory() as folder:
        check_runs(failures, pathlib.Path(folder), parser.parse_args().program)
    failures.exit()


if __name__ == "__main__":
    main()
