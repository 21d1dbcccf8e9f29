"""Running compatcheck verify in the script tests of this folder."""
import argparse, json, pathlib, re, subprocess, sys, tempfile

import jsonschema
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day


class Verify:
    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, pathlib.Path(folder), []
        schema = json.loads(subprocess.run([program, "schema", "verify"], capture_output=True, check=True).stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        self.valid = jsonschema.Draft202012Validator(schema)

    def save(self, module, *inputs, script=False, name=None):
        file = self.folder / f"{name or type(module).__name__}.pt"
        module.eval()
        (torch.jit.script(module) if script else torch.jit.trace(module, inputs, check_trace=False)).save(str(file))
        return file

    def convert(self, model, name, *options):
        file = self.folder / name
        subprocess.run([self.program, "convert", model, "-o", file, "-q", *map(str, options)], check=True, capture_output=True)
        return file

    def run(self, what, code, *arguments, ids=(), says="", form="json"):
        """The report, or stdout in other formats; {} where the exit code or the findings are others."""
        command = [self.program, "verify", *map(str, arguments)] + (["--format", form] if form else [])
        run = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if run.returncode != code:
            self.wrong.append(f"{what}: exit {run.returncode}, not {code}: {run.stdout[-900:]}{run.stderr[-500:]}")
            return {} if form == "json" else ""
        if says not in run.stderr:
            self.wrong.append(f"{what}: stderr lacks {says!r}: {run.stderr}")
        if form != "json":
            return run.stdout
        report = json.loads(run.stdout) if run.stdout else {}
        if report:
            self.wrong.extend(f"{what}: {error.message}" for error in self.valid.iter_errors(report))
        found = {finding["id"] for finding in report.get("findings", [])}
        if found != set(ids):
            self.wrong.append(f"{what}: findings {sorted(found)}, not {sorted(ids)}: {report.get('findings')}")
            return {}
        return report

    def any_of(self, what, ids, *arguments):
        """Fails unless verify ends with 1, and all errors are among these."""
        run = subprocess.run(
            [self.program, "verify", *map(str, arguments), "--format", "json"], capture_output=True, text=True, timeout=600
        )
        found = {finding["id"] for finding in json.loads(run.stdout)["findings"] if finding["severity"] == "error"} if run.stdout else set()
        self.expect(
            what, run.returncode == 1 and found and found <= set(ids), f"exit {run.returncode}, {sorted(found)}: {run.stderr[-300:]}"
        )

    def advised(self, *arguments):
        """The options --input of its error message."""
        run = subprocess.run([self.program, "verify", *map(str, arguments)], capture_output=True, text=True)
        return [word for spec in re.findall(r"--input ([^\s;]+)", run.stderr) for word in ("--input", spec)]

    def expect(self, what, holds, shown=""):
        if not holds:
            self.wrong.append(f"{what}: {shown}")

    def end(self):
        print(*self.wrong, sep="\n")
        print(f"{len(self.wrong)} failed")
        return 1 if self.wrong else 0


def run_cases(cases, description, parser=None):
    """Runs functions of a Verify: those whose names hold --only, or every Nth, others each day. Options that `parser` adds are verify.options."""
    parser = parser or argparse.ArgumentParser(description=description)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth case, others each day")
    options = parser.parse_args()
    chosen = [case for case in cases if options.only in case.__name__] if options.only else part_of_the_day(cases, description, options.part_of_day)
    if not chosen:
        sys.exit(f"no case has {options.only!r} in its name; there are: {' '.join(case.__name__ for case in cases)}")
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(options.program, folder)
        verify.options = options
        for case in chosen:
            case(verify)
        return verify.end()
