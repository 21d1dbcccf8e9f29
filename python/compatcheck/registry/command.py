"""`compatcheck scan`, whose options the program has read: pairs of an option and its value, then `--` and the URIs."""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import sys
import threading
import time
from typing import Any, Callable, Sequence

from ..errors import Error, InternalError, ModelError

_FLAGS = ("--exit-zero", "--resume", "--quiet")
_LISTS = {
    "--input": "inputs", "--dim": "dims", "--custom-opset": "custom_opsets", "--mappings": "mappings", "--plugin": "plugins",
    "--target": "targets", "--exclude": "exclude",
}
_NAMES = {"--timeout": "timeout_seconds", "--memory": "memory_mb"}
_NUMBERS: dict[str, Callable[[str], Any]] = {"--timeout": float, "--memory": int, "--max-missing": int, "--jobs": int}
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LEAVE_SECONDS = 10
_CLEAR = "\r\x1b[K"
_OWN = ("output", "format", "progress", "quiet")


def parsed(words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    end = next(at for at in range(0, len(words), 2) if words[at] == "--")  # a value may be "--", too
    options: dict[str, Any] = {}
    for flag, value in zip(words[:end:2], words[1:end:2]):
        if flag in _LISTS:
            options.setdefault(_LISTS[flag], []).append(value)
        elif flag == "--opset":
            opsets = [int(each) for each in value.split(",")]
            options["opset"] = opsets[0] if len(opsets) == 1 else opsets
        elif flag == "--opset-range":
            opsets = [int(each) for each in value.split(",")]
            options["opset"] = range(opsets[0], opsets[-1] + 1)
        else:
            name = _NAMES.get(flag, flag[2:].replace("-", "_"))
            options[name] = True if flag in _FLAGS else _NUMBERS.get(flag, str)(value)
    return options, list(words[end + 1:])


class _ProgressLine:
    """The progress line of a batch, on stderr."""

    def __init__(self, when: str) -> None:
        self.shown = when == "always" or (when == "auto" and sys.stderr.isatty())
        self._begun = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self.shown:
            return
        seconds = time.monotonic() - self._begun
        rate = f" {done / seconds:.1f} a second" if done and seconds >= 1 else ""
        sys.stderr.write(f"\r\x1b[K[{done}/{total}]{rate}")
        sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write(_CLEAR)


_RAYS_OWN = re.compile(rb"\[\d{4}-\d\d-\d\d [^]]*\] .*\.(cc|h):\d+: |\d{4}-\d\d-\d\d [^\t]+\t(INFO|WARNING|ERROR|CRITICAL) ")


class _WithoutLog:
    """Drops what Ray writes to stdout, and passes on what comes to stderr without Ray's log and the lines that are indented below it.
    Errors in the log are also raised as exceptions."""

    _is_rays = False

    def __enter__(self) -> None:
        sys.stderr.flush()
        sys.stdout.flush()
        self._stdout, self._stderr = os.dup(1), os.dup(2)
        source, target = os.pipe()
        os.dup2(target, 2)
        os.close(target)
        dropped = os.open(os.devnull, os.O_WRONLY)
        os.dup2(dropped, 1)
        os.close(dropped)
        self._thread = threading.Thread(target=self._pass, args=(source,), daemon=True)
        self._thread.start()

    def _pass(self, source: int) -> None:
        held = b""
        while piece := os.read(source, 1 << 16):
            held += piece
            while (end := held.find(b"\n")) >= 0:
                self._write(held[: end + 1])
                held = held[end + 1 :]
            if held[:1] == b"\r":  # the progress line, which has no end
                self._write(held)
                held = b""
        self._write(held)

    def _write(self, line: bytes) -> None:
        self._is_rays = bool(_RAYS_OWN.match(line)) or (self._is_rays and line[:1].isspace() and line[:1] != b"\r")
        if line and not self._is_rays:
            with contextlib.suppress(OSError):  # stderr is full or closed: the pipe must be read nevertheless
                os.write(self._stderr, line)

    def __exit__(self, *_: object) -> None:
        sys.stderr.flush()
        sys.stdout.flush()
        os.dup2(self._stdout, 1)
        os.dup2(self._stderr, 2)
        self._thread.join(timeout=1)  # a process of Ray may still hold the pipe


def main(words: Sequence[str]) -> int:
    """Runs the scan in a process of its own: Ray ends a process without a word, and with exit code 1, when Ray's own processes die."""
    source, target = os.pipe()
    scan = os.fork()
    if scan == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        code = _caught(words)
        os.write(target, bytes([code]))
        return code
    os.close(target)
    for number in _ENDING:
        signal.signal(number, lambda number, _: os.kill(scan, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)  # the program blocks them until here
    received = os.read(source, 1)  # nothing where it ended by other means than ours
    if received:
        threading.Timer(_LEAVE_SECONDS, os.kill, (scan, signal.SIGKILL)).start()  # a Ray that has lost its cluster may hang
    ended = os.waitstatus_to_exitcode(os.waitpid(scan, 0)[1])
    if received:
        os._exit(received[0])
    reason = "Ray ended the scan" if ended >= 0 else f"the scan was killed ({signal.Signals(-ended).name})"
    return _failed(3, f"{_CLEAR if sys.stderr.isatty() else ''}{reason}; --resume goes on from here")


def _interrupt(number: int, _: object) -> None:
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)  # a terminal sends it to both processes, and the first passes it on
    raise KeyboardInterrupt


def _caught(words: Sequence[str]) -> int:
    from .storage import reason_of

    try:
        for number in _ENDING:
            signal.signal(number, _interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        return _run(words)
    except (KeyboardInterrupt, SystemExit):  # Ray exits at SIGTERM while it starts
        return _failed(130, "interrupted; --resume goes on from here")
    except Error as error:
        return _failed(3 if isinstance(error, (ModelError, InternalError)) else 2, _flags(str(error)))
    except Exception as error:
        return _failed(3, f"scan failed: {reason_of(error)}")


def _run(words: Sequence[str]) -> int:
    from . import cluster
    from .scan import scan

    cluster.start_folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    options, uris = parsed(words)
    own = {name: options.pop(name, None) for name in _OWN}
    line = _ProgressLine(own["progress"] or "auto")
    with _WithoutLog():
        cluster.notify = lambda text: _failed(0, text)
        try:
            totals = scan(uris, own["output"], progress=line, **options)
        finally:
            line.clear()
    text = json.dumps(totals.to_dict(), indent=2) + "\n" if own["format"] == "json" else str(totals)
    return totals.exit_code if own["quiet"] else _printed(text, totals.exit_code)


def _printed(text: str, code: int) -> int:
    """The exit code. A reader that has seen enough of the text doesn't change it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the rest of the text, which Python writes when it ends
        if not isinstance(error, BrokenPipeError):
            return _failed(3, f"stdout: can't be written: {error.strerror}")
    return code


def _failed(code: int, message: str) -> int:
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
    return code


def _flags(text: str) -> str:
    return text.replace("changed_since", "--changed-since")
