"""Starts the process of `worker`, reads ranges for it, and ends it when a check takes too long."""
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
from typing import Any, Callable, Mapping, TypeVar

from .bounded import OutOfTime, bounded
from .storage import Found, Remote, reason_of

_T = TypeVar("_T")
LEAVE_SECONDS = 10  # beyond the bounds that the work keeps by itself
_START_ATTEMPTS = 3
# Python files in the current folder must not run.
_START = "import sys; sys.path[:] = [path for path in sys.path if path]; from compatcheck.registry.worker import main; main()"


class CheckError(Exception):
    """The reason why a model can't be checked."""


class StartError(Exception):
    """The reason why processes that check models don't start: no model can be checked."""


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
        reason = ""
        for _ in range(_START_ATTEMPTS):
            connection = self._connect()
            try:
                connection.send_bytes(self._message)
                answer = connection.recv_bytes() if connection.poll(self._seconds) else b"F" + b"it gives no answer"
            except (EOFError, OSError):
                reason = self._how_it_ended()
                continue
            if answer == b"K":
                return connection
            self._end(kill=True)
            reason = answer[1:].decode()
        raise StartError(f"no process that checks models starts: {reason}")

    def _connect(self) -> Connection:
        ours, theirs = socket.socketpair()
        with theirs:
            # The package of this process, wherever it comes from.
            root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
            )
        self._connection = Connection(ours.detach())
        return self._connection

    def check(self, model: Found, file: Remote, known: str | None) -> bytes | None:
        """The reports, as JSON lines; none: the model is the one of the earlier report. Raises CheckError, and StartError."""
        connection = self._connection or self._start()
        deadline = time.monotonic() + self._seconds
        request = {"name": model.name, "bytes": file.size, "known": known}
        try:
            connection.send_bytes(b"M" + json.dumps(request).encode())
            while True:
                left = deadline - time.monotonic()
                if left <= 0 or not connection.poll(left):
                    raise CheckError(self._too_long())
                message = connection.recv_bytes()
                if message[:1] != b"R":
                    return message[1:] if message[:1] == b"A" else None
                try:
                    ranges = json.loads(message[1:])
                    pieces = [b"B" + piece for piece in bounded(lambda: file.read(ranges), deadline - time.monotonic())]
                except OutOfTime:
                    raise CheckError(self._too_long()) from None
                except Exception as error:
                    pieces = [b"E" + reason_of(error).encode()]
                for piece in pieces:
                    connection.send_bytes(piece)
        except (EOFError, OSError):
            raise CheckError(self._how_it_ended()) from None
        except BaseException:
            self._end(kill=True)
            raise

    def bound(self, call: Callable[[], _T]) -> _T:
        """The result of a call to a store. Raises CheckError for one that takes too long."""
        try:
            return bounded(call, self._seconds)
        except OutOfTime:
            raise CheckError(self._too_long()) from None

    def _too_long(self) -> str:
        return f"took longer than {int(self._seconds)} s"

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
def opened(worker: Worker, model: Found, storage: Mapping[str, Any]) -> Any:
    file = worker.bound(lambda: Remote(model.uri, storage))
    try:
        yield file
    finally:
        file.close()


def check(worker: Worker, model: Found, storage: Mapping[str, Any], known: str | None = None) -> bytes | None:
    """The reports of a model as JSON lines, also if the model can't be read; none: the model is the one of the earlier report. Raises
    StartError."""
    from .worker import failure_lines

    try:
        for last in (False, True):
            with opened(worker, model, storage) as file:
                reports = worker.check(model, file, known)
                if not worker.bound(file.has_changed):
                    return reports
                if last:
                    raise CheckError("was replaced again and again while it was read")
    except StartError:
        raise
    except CheckError as error:
        return failure_lines(model.name, str(error))
    except Exception as error:
        return failure_lines(model.name, f"can't be read: {reason_of(error)}")
    return None
