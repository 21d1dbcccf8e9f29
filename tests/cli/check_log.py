#!/usr/bin/env python3
"""The log: silent by default, on stderr from the level that -v, -vv, --log or the environment names, in a file with times; the report stays as it is."""
import argparse, os, pathlib, re, subprocess, sys, tempfile

MODELS = pathlib.Path(__file__).resolve().parent / "models"
failed = 0


def expect(condition, message):
    global failed
    if not condition:
        failed += 1
        print(f"FAILED: {message}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    program = parser.parse_args().program
    kept = {k: v for k, v in os.environ.items() if not k.startswith("COMPATCHECK_") or k in ("COMPATCHECK_HELPER", "COMPATCHECK_LIBTORCH")}

    def run(*words, code=0, **variables):
        result = subprocess.run([program, *map(str, words)], cwd=MODELS, env=kept | variables, capture_output=True, text=True, timeout=120)
        expect(result.returncode == code, f"{words} {variables}: exit {result.returncode}: {result.stderr}")
        return result.stdout, result.stderr

    page, silent = run("relu.ir")
    expect(silent == "", f"not silent: {silent}")
    detailed, info = run("relu.ir", "-v")
    expect("operators\n" in detailed and page != detailed, "-v: no details in the report")
    lines = info.splitlines()
    expect(lines and all(re.match(r"compatcheck: info: \S", line) for line in lines), f"-v: {info}")
    expect(any("relu.ir" in line and "1 node after" in line for line in lines) and any("opset 17" in line for line in lines), f"-v says too little: {info}")
    _, debug = run("relu.ir", "-vv")
    expect("compatcheck: debug: " in debug and re.search(r"\d ms$", debug, re.M) and set(lines) <= set(debug.splitlines()), f"-vv: {debug}")
    expect(run("relu.ir", "--log", "info") == (page, info), "--log info changes the report")
    expect(run("relu.ir", COMPATCHECK_LOG="info") == (page, info), "COMPATCHECK_LOG=info")
    expect(run("relu.ir", "--log", "off", COMPATCHECK_LOG="info") == (page, ""), "--log wins over COMPATCHECK_LOG")
    expect(run("relu.ir", "-v", "--log", "off") == (detailed, ""), "-v --log off")
    _, output = run("relu.ir", "--log", "loud", code=2)
    expect("--log loud: expected one of off, warning, info, debug" in output, output)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "run.log"
        expect(run("relu.ir", "--log-file", file) == (page, ""), "--log-file changes stdout or stderr")
        written = file.read_text().splitlines()
        expect(written and all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[\d+\] (debug|info): \S", line) for line in written), f"{written}")
        expect(any(" debug: " in line for line in written), "the file has no debug messages")
        run("relu.ir", "--log", "info", COMPATCHECK_LOG_FILE=str(file))
        more = file.read_text().splitlines()[len(written):]
        expect(more and not any(" debug: " in line for line in more), f"--log info for the file: {more}")
        # Several processes write whole lines.
        several = pathlib.Path(folder) / "several.log"
        run("relu.ir", "mean.ir", "branch.ir", "control.ir", "--jobs", "3", "--exit-zero", "--log-file", several)
        expect(all(re.match(r"\d{4}-.* \[\d+\] (debug|info): ", line) for line in several.read_text().splitlines()), "lines of several processes mix")
        # A model's name can't forge lines.
        odd = pathlib.Path(folder) / "a\nb.ir"
        odd.write_text((MODELS / "relu.ir").read_text())
        _, err = run(odd, "-v")
        expect(all(line.startswith("compatcheck: ") for line in err.splitlines()), f"a name of two lines: {err!r}")
        run("relu.ir", "--log-file", folder, code=2)
    print(f"{failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
