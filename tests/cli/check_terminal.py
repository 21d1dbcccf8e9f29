#!/usr/bin/env python3
"""Pages fit the terminal that they are printed on: of its own width, or that of COLUMNS; what goes elsewhere isn't wrapped anew."""
import argparse, fcntl, os, pathlib, pty, re, struct, subprocess, sys, tempfile, termios, threading

MODELS = pathlib.Path(__file__).resolve().parent / "models"
END = b"\x04end of the program\x04"
CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def environment(**extra):
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    return kept | {"COMPATCHECK_NO_CONFIG": "1", "TERM": "xterm"} | extra


def on_terminal(command, width, stream="stdout", **extra):
    """What a terminal of that width gets on one of the streams."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | {stream: slave}
    process = subprocess.Popen(command, cwd=MODELS, env=environment(**extra), stdin=subprocess.DEVNULL, **streams)
    # A terminal whose last writer leaves may lose what wasn't read (EIO), so it is kept open until what is written to it after the program came through.
    late = []

    def finish():
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired as error:
            late.append(error)
        finally:
            process.kill()
            os.write(slave, END)

    end = threading.Thread(target=finish)
    end.start()
    text = b""
    while not text.endswith(END):
        text += os.read(master, 1 << 16)
    end.join()
    if late:
        raise late[0]
    os.close(slave)
    os.close(master)
    return text.removesuffix(END).decode().replace("\r\n", "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    program = parser.parse_args().program
    failures = []

    # A file can't send the terminal escape sequences.
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "hostile.yaml"
        table.write_bytes(b"aten::relu: \x1b]0;title\x07 {7: Relu}\n")
        linted = subprocess.run([program, "lint", str(table)], capture_output=True, env=environment())
        if linted.returncode != 1 or b"a control character" not in linted.stdout or re.search(rb"[\x00-\x09\x0b-\x1f]", linted.stdout):
            failures.append(f"lint: {linted}")

    def too_wide(text, width):
        return [line for line in CODES.sub("", text).splitlines() if len(line) > width and " " in line.strip()[:width]]

    for words in (["--help"], ["check", "--help"], ["convert", "--help"], ["explain", "CC005"], ["explain", "aten::gelu"], ["ops", "gelu", "relu"]):
        plain = subprocess.run([program, *words], capture_output=True, text=True, env=environment(), check=True).stdout
        for width, extra in ((40, {}), (80, {}), (200, {"COLUMNS": "40"}), (40, {"COLUMNS": "-3"})):
            shown = min(width, int(extra.get("COLUMNS", width)) if extra.get("COLUMNS") != "-3" else width)
            text = on_terminal([program, *words], width, **extra)
            if wide := too_wide(text, shown):
                failures.append(f"{words} at {shown}: {wide[:3]}")
            if CODES.sub("", text).split() != plain.split():
                failures.append(f"{words} at {shown}: other words: {text!r}")
        if CODES.sub("", on_terminal([program, *words], 2000)) != plain:
            failures.append(f"{words}: a wide terminal gets another page")
        if subprocess.run([program, *words], capture_output=True, text=True, env=environment(COLUMNS="40")).stdout != plain:
            failures.append(f"{words}: COLUMNS changes what goes into a pipe")
    for columns, width in (("60", 60), ("0", 90), ("6x", 90), ("", 90)):
        ruler = [line for line in on_terminal([program, "warp.ir", "--opset", "11"], 90, COLUMNS=columns).splitlines()]
        if not any(width * 0.7 < len(CODES.sub("", line)) <= width for line in ruler):
            failures.append(f"COLUMNS={columns!r}: {max(map(len, ruler))} columns")
    # A manual page pages itself; without `man` a terminal gets the words of --help, and a pipe always gets the page itself.
    with tempfile.TemporaryDirectory() as folder:
        man = pathlib.Path(folder) / "man"
        man.write_text('#!/bin/sh\necho "man $*"\nhead -1\n')
        man.chmod(0o755)
        shell = pathlib.Path(folder) / "sh"
        shell.symlink_to("/bin/sh")
        shown = on_terminal([program, "man", "verify"], 90, PATH=f"{folder}:{os.environ['PATH']}")
        if shown.splitlines()[:1] != ["man -l -"] or ".TH compatcheck" not in shown:
            failures.append(f"man on a terminal: {shown[:200]!r}")
        man.unlink()
        shown = on_terminal([program, "man", "verify"], 90, PATH=folder)
        if not shown.startswith("usage: compatcheck verify"):
            failures.append(f"man on a terminal without man: {shown[:200]!r}")
        piped = subprocess.run([program, "man", "verify"], capture_output=True, text=True, env=environment()).stdout
        if not piped.startswith(".TH compatcheck-verify 1"):
            failures.append(f"man in a pipe: {piped[:200]!r}")
    # The progress line can be taken back only if it is one.
    progress = on_terminal([program, "./" * 60 + "relu.ir", "branch.ir", "--jobs", "1"], 40, stream="stderr")
    shown = [CODES.sub("", part) for part in re.split(r"[\r\n]", progress)]
    if not any(part.startswith("[0/2]") for part in shown) or any(len(part) >= 40 for part in shown):
        failures.append(f"progress: {shown}")
    print(*failures, sep="\n")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
