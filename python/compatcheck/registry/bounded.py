"""Calls that may hang: of stores, and of Ray."""
from __future__ import annotations

import queue
import threading
from typing import Any, Callable, TypeVar

_T = TypeVar("_T")


class OutOfTime(Exception):
    """A call took too long. Stores raise TimeoutError for reasons of their own."""


def bounded(call: Callable[[], _T], seconds: float) -> _T:
    """The result of the call. Raises OutOfTime after these seconds; the call then goes on in its thread, and its result is dropped."""
    answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((call(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, error = answers.get(timeout=max(seconds, 0))
    except queue.Empty:
        raise OutOfTime from None
    if error:
        raise error
    return result  # type: ignore[no-any-return]
