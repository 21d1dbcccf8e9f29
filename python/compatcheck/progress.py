"""How far a call is: a bar of tqdm, or a caller's own function."""
from __future__ import annotations

import contextlib
import warnings
from typing import Any, Callable, Iterator

from .options import Progress


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Callable[[str, int, int], object] | None]:
    if callable(progress) or not progress:
        yield progress if callable(progress) else None
        return
    if progress is not True:
        raise TypeError(f"progress can't be {progress!r}: it is True, False or a function of (stage, done, total)")
    try:
        from tqdm.auto import tqdm
    except ImportError:
        warnings.warn("progress=True shows a bar where tqdm is installed: pip install tqdm", stacklevel=4)
        yield None
        return
    bars: list[Any] = []

    def show(stage: str, done: int, total: int) -> None:
        if not bars or bars[-1].desc != stage:
            close()
            bars.append(tqdm(desc=stage, total=total or None))
        bars[-1].total = total or None
        bars[-1].n = done
        bars[-1].refresh()

    def close() -> None:
        while bars:
            bars.pop().close()

    try:
        yield show
    finally:
        close()
