"""A line on the terminal for calls that take long."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Optional, Union

Progress = Union[None, bool, Callable[..., Any]]


class Line:
    def __init__(self, what: str):
        self.what, self.begin, self.shown = what, time.monotonic(), 0.0

    def __call__(self, done: int, total: int, value: float) -> None:
        now = time.monotonic()
        pause = 0.2 if sys.stderr.isatty() else 60.0
        if now - max(self.shown, self.begin) < pause and (done < total or not self.shown):
            return
        self.shown = now
        left = (now - self.begin) * (total - done) / max(done, 1)
        end = "\n" if done >= total or not sys.stderr.isatty() else ""
        start = "\r" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{start}{self.what}: {done} of {total}, {left:.0f} s left {end}")
        sys.stderr.flush()


def callback(progress: Progress, what: str) -> Optional[Callable[..., Any]]:
    """True: a line on standard error. A function gets (done, total, value); False from it stops the call."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Line(what)
    if not callable(progress):
        raise TypeError(f"progress: True or a function (done, total, value) is wanted, not {type(progress).__name__}")
    return progress
