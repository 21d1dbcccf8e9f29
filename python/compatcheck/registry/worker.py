"""The process that checks models: a crash, a hang or too much memory fails only one model. The process reads no files. Its starter
answers its requests for ranges, so that it needs neither networks nor credentials.

Messages are a letter and bytes. The starter sends `O`, the options, once; `M`, a model; then `B`, a piece for each range that was
asked for, or `E`, the reason why a range can't be read. The process answers the options with `K`, or with `F` and a reason. It
answers a model with `R`, ranges that it needs; then with `A`, the reports, or `S`: the model is the one of the earlier report.
"""
from __future__ import annotations

import json
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any, Mapping, Tuple

from .. import _core
from ..errors import Error
from ..options import fill, load_options


class Settings:
    """The settings with which all models of a run are checked. An error in them, or a file that this machine lacks, is raised once,
    and isn't repeated in each model's report."""

    def __init__(self, opset: Any, options: Mapping[str, Any]) -> None:
        self.one_is_enough = isinstance(opset, range)
        self.opsets = [opset] if isinstance(opset, int) else list(opset)
        self.check = _core.CheckOptions()
        self.load = load_options("scan", options, self.check)
        # A report is the same on all machines, whether or not they have a libtorch.
        fill("scan", {"frontend": "native"}, self.load)
        _core.check_settings(self.load, self.opsets, self.check)

    def digest(self) -> str:
        return _core.settings_digest(self.load, self.check)

    def reports(self, file: _core.RangedFile) -> bytes:
        """JSON lines, one for each opset; one where the model can't be checked."""
        try:
            return _core.reports_of_file(file, self.load, self.opsets, self.one_is_enough, self.check)
        except OSError as error:
            return failure_lines(file.name, f"can't be read: {error}")


def failure_lines(name: str, reason: str) -> bytes:
    """The report of a model that can't be read, as a JSON line."""
    return _core.failure_report(name, f"{name}: {reason}")


class _Ranges:
    """The starter's answers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __call__(self, ranges: list[Tuple[int, int]]) -> list[bytes]:
        self._connection.send_bytes(b"R" + json.dumps(ranges).encode())
        pieces = []
        for _ in ranges:
            answer = self._connection.recv_bytes()
            if answer[:1] == b"E":
                raise OSError(answer[1:].decode())
            pieces.append(answer[1:])
        return pieces


def answer(settings: Settings, connection: Connection, request: Mapping[str, Any]) -> bytes:
    file = _core.RangedFile(request["name"], request["bytes"], _Ranges(connection))
    identity = None
    try:
        identity = _core.identity_of(file)
    except (Error, OSError):
        pass  # the check says what is wrong with it
    if identity and identity == request["known"]:
        return b"S"
    return b"A" + settings.reports(file)


def bound(memory_mb: int) -> None:
    import ctypes
    import resource

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: nobody is left to kill it
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = memory_mb << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # its starter ends it
    connection = Connection(int(sys.argv[1]))
    settings: Settings | None = None
    while True:
        try:
            message = connection.recv_bytes()
        except EOFError:
            return
        request = json.loads(message[1:])
        if message[:1] == b"O":
            try:
                bound(request["memory_mb"])
                opset = request["opset"]
                settings = Settings(range(*opset["range"]) if isinstance(opset, dict) else opset, request["options"])
            except Exception as error:
                connection.send_bytes(b"F" + (str(error) or type(error).__name__).encode())
                return
            connection.send_bytes(b"K")
        elif settings:
            connection.send_bytes(answer(settings, connection, request))

