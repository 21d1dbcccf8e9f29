"""The other side of `worker`: starts the process, gives it ranges, and ends it when it takes too long."""
from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from typing import Any, Mapping

from .storage import Found, Remote, reason_of

LEAVE_SECONDS = 10  # beyond the bounds that the work keeps by itself


class CheckError(Exception):
    """Why a model's process gave no answer."""


def packed_opset(opset: Any) -> Any:
    return {"range": [opset.start, opset.stop, opset.step]} if isinstance(opset, range) else opset


class Worker:
    """One process. Not for use from several threads at once; the thread that uses it must live as long as it does."""

    def __init__(self, opset: Any, options: Mapping[str, Any]) -> None:
        self._options = {**options}
        self._message = b"O" + json.dumps(
            {"opset": packed_opset(opset), "options": self._options, "memory_mb": int(options.get("memory_mb") or 8192)}
        ).encode()
        self._seconds = 2 * float(options.get("timeout_seconds") or 120) + LEAVE_SECONDS
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        with theirs:
            # The package of this process, wherever it comes from.
            root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from compatcheck.registry.worker import main; main()", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )
        self._connection = Connection(ours.detach())
        self._connection.send_bytes(self._message)
        return self._connection

    def check(self, model: Found, file: Remote, known: str | None) -> bytes | None:
        """The reports, as JSON lines; none: the model is the one of the earlier report. Raises CheckError."""
        connection = self._connection or self._start()
        deadline = time.monotonic() + self._seconds
        asked = {"name": model.name, "bytes": file.size, "known": known}
        try:
            connection.send_bytes(b"M" + json.dumps(asked).encode())
            while True:
                left = deadline - time.monotonic()
                if left <= 0 or not connection.poll(left):
                    self._end(kill=True)
                    raise CheckError(f"took longer than {int(self._seconds)} s")
                message = connection.recv_bytes()
                if message[:1] != b"R":
                    return message[1:] if message[:1] == b"A" else None
                try:
                    pieces = [b"B" + piece for piece in file.read(json.loads(message[1:]))]
                except Exception as error:
                    pieces = [b"E" + reason_of(error).encode()]
                for piece in pieces:
                    connection.send_bytes(piece)
        except (EOFError, OSError):
            raise CheckError(self._how_it_ended()) from None
        except BaseException:
            self._end(kill=True)
            raise

    def _how_it_ended(self) -> str:
        code = self._end(kill=False)
        if code is None or code >= 0:
            return "its process ended without an answer"
        if -code == signal.SIGKILL:
            return "its process was killed (SIGKILL): the machine was probably out of memory"
        return f"its process crashed ({signal.strsignal(-code)})"

    def _end(self, kill: bool) -> int | None:
        process, self._process = self._process, None
        if self._connection:
            self._connection.close()
            self._connection = None
        if not process:
            return None
        if kill:
            process.kill()
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def close(self) -> None:
        self._end(kill=True)


@contextlib.contextmanager
def opened(model: Found, storage: Mapping[str, Any]) -> Any:
    file = Remote(model.uri, storage)
    try:
        yield file
    finally:
        file.close()


def check(worker: Worker, model: Found, storage: Mapping[str, Any], known: str | None = None) -> bytes | None:
    """The reports of a model as JSON lines, whatever is wrong with it; none: it is the one of the earlier report."""
    from .worker import failure_lines

    try:
        for last in (False, True):
            with opened(model, storage) as file:
                reports = worker.check(model, file, known)
                if not file.has_changed():
                    return reports
                if last:
                    raise CheckError("was replaced again and again while it was read")
    except CheckError as error:
        return failure_lines(model.name, str(error))
    except Exception as error:
        return failure_lines(model.name, f"can't be read: {reason_of(error)}")
    return None
