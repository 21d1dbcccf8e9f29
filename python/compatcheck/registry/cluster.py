"""Ray: the cluster that a scan joins or starts, and the answers of its tasks."""
from __future__ import annotations

import contextlib
import importlib
import logging
import os
import queue
import signal
import socket
import threading
import time
from typing import Any, Callable, Iterator, Mapping

from ..errors import Error, ModelError, UsageError
from .bounded import OutOfTime, bounded
from .storage import reason_of

OBJECT_STORE_BYTES = 128 << 20  # only names and counts go through it
REACH_SECONDS, CONNECT_SECONDS = 10, 60
SILENCE_SECONDS = 30  # Ray ends the driver's process after 60 s without its server: a scan ends before that, with a reason
NODE_SECONDS = 600  # a cluster that grows has this time to bring up a node with cores
LOOK_SECONDS = 5
_QUIET: dict[str, Any] = {"logging_level": "CRITICAL", "log_to_driver": False}

# The command sets both. The folder that Ray is started in: Ray's processes import modules from it, and users' folders hold any files.
start_folder: str | None = None
notify: Callable[[str], object] = lambda text: None


def import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.data
    except ImportError as error:
        name = getattr(error, "name", None) or "ray"
        raise UsageError(f"scan needs Ray, and {name} is not installed: pip install 'compatcheck[ray]'") from None
    return ray


@contextlib.contextmanager
def _in_folder(folder: str | None) -> Iterator[None]:
    before = os.getcwd() if folder else None
    if folder:
        os.chdir(folder)
    try:
        yield
    finally:
        if before:
            os.chdir(before)


@contextlib.contextmanager
def _handler_of_sigterm() -> Iterator[None]:
    """Keeps it: Ray sets its own, which prints addresses of code."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


@contextlib.contextmanager
def connected(address: str, jobs: int | None) -> Iterator[None]:
    """Raises UsageError for a cluster that can't be joined. `address`: auto (the cluster that this machine names, or else a Ray of
    our own), local, or the address of a cluster. A program that is connected already stays so."""
    ray = import_ray()
    if ray.is_initialized():
        yield
        return
    with _in_folder(start_folder), _handler_of_sigterm():
        found, source = (None, "") if address == "local" else _address_of(address)
        if found:
            _join(ray, found, source)
        else:
            _start(ray, jobs)
    try:
        yield
    finally:
        with contextlib.suppress(OutOfTime):
            bounded(ray.shutdown, SILENCE_SECONDS)


def _address_of(address: str) -> tuple[str | None, str]:
    """The address, and where it stands. None: this machine names no cluster. `ray start` writes the address of its cluster to a file.
    Ray's own "auto" also joins a Ray that another program started for itself, and that ends with that program."""
    if address != "auto":
        return address, "--ray"
    named = os.environ.get("RAY_ADDRESS") or "auto"
    if named != "auto":
        return (None if named == "local" else named), "RAY_ADDRESS"
    from ray._private.utils import read_ray_address

    found = read_ray_address()
    if not found or not _is_reachable(found):  # the file outlives a cluster that was killed
        return None, ""
    with contextlib.suppress(ImportError):  # the token in the home folder, which Ray takes by itself for "auto" alone
        from ray._private.authentication import authentication_token_setup as setup

        getattr(setup, "maybe_enable_token_auth_if_token_available", lambda **_: None)(warn_if_disabled=False)
    return str(found), "the cluster of `ray start`"


def _is_reachable(address: str) -> bool:
    host, _, port = address.rpartition("://")[2].partition("/")[0].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _join(ray: Any, address: str, source: str) -> None:
    notify(f"connecting to the Ray cluster at {address} ({source})")
    named = f"{source} {address}"
    if ":" in address and not _is_reachable(address):
        raise UsageError(f"{named}: no cluster answers there")  # Ray would wait for it without end
    try:
        bounded(lambda: ray.init(address=address, **_QUIET), CONNECT_SECONDS)
    except OutOfTime:
        raise UsageError(f"{named}: gave no answer in {CONNECT_SECONDS} s") from None
    except Exception as error:
        reason = reason_of(error)
        if "AuthenticationError" in reason + reason_of(error.__cause__ or error):
            reason = "it needs a token, or takes another one; set RAY_AUTH_MODE=token, and the token in RAY_AUTH_TOKEN or ~/.ray/auth_token"
        raise UsageError(f"{named}: {reason}") from error


def _start(ray: Any, jobs: int | None) -> None:
    """A Ray of this process alone. Not in a thread of its own: Ray's processes end with the thread that starts them."""
    _require_token()
    try:
        ray.init(
            address="local", num_cpus=jobs, include_dashboard=False, object_store_memory=OBJECT_STORE_BYTES,
            _node_ip_address="127.0.0.1", **_QUIET,
        )
    except Exception as error:  # with the path, which `reason_of` leaves out: here it isn't the user's
        raise ModelError(f"Ray can't be started on this machine: {' '.join(str(error).split())}") from error


def _require_token() -> None:
    """Other users of this machine can't use the Ray. Ray does so by itself from version 2.59 on, and can't before 2.52."""
    raylet: Any = importlib.import_module("ray._raylet")
    if "RAY_AUTH_MODE" not in os.environ and hasattr(raylet, "AuthenticationTokenLoader"):
        os.environ["RAY_AUTH_MODE"] = "token"
        raylet.Config.initialize("")  # reads the environment again


def quiet() -> None:
    ray = import_ray()
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False


def cores() -> int:
    return max(1, int(_call_ray(lambda: import_ray().cluster_resources()).get("CPU", 1)))


def _call_ray(call: Callable[[], Any]) -> Any:
    try:
        return bounded(call, SILENCE_SECONDS)
    except OutOfTime:
        raise ModelError(f"the Ray cluster gave no answer in {SILENCE_SECONDS} s; --resume goes on from here") from None


def rows(data: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a data set of Ray. Raises ModelError for what tasks report, and where Ray itself fails: Ray waits without end for a
    cluster that has died."""
    ray = import_ray()
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    left = threading.Event()

    def take() -> None:
        try:
            for row in data.iter_rows():
                if left.is_set():
                    return
                answers.put(row)
            answers.put(None)
        except BaseException as error:
            answers.put(error)

    threading.Thread(target=take, daemon=True).start()
    had_cores = time.monotonic()
    try:
        while True:
            try:
                row = answers.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                if any(node["Alive"] and node["Resources"].get("CPU") for node in _call_ray(ray.nodes)):
                    had_cores = time.monotonic()
                elif time.monotonic() - had_cores > NODE_SECONDS:
                    raise ModelError("no node of the Ray cluster has cores; --resume goes on from here") from None
                continue
            if row is None:
                return
            if isinstance(row, BaseException):
                raise row
            if row["error"]:
                raise ModelError(f"{row['error']}; --resume goes on from here")
            yield row
    except Error:
        raise
    except Exception as error:
        cause = getattr(error, "cause", None) or error
        raise ModelError(f"the run on Ray failed ({reason_of(cause)}); --resume goes on from here") from error
    finally:
        left.set()
