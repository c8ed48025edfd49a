"""Signals of the starter: an order to end unwinds the program, and cannot cut the unwinding short."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGHUP)


def end_like_exit() -> Callable[[], None]:
    """From now on SIGTERM and SIGHUP raise `SystemExit`, where nobody else handles them.

    Gives the function that puts back what was. Outside of the main thread Python handles no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    before = {number: signal.getsignal(number) for number in ENDING}
    ours = [number for number in ENDING if before[number] is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _exit)

    def put_back() -> None:
        for number in ours:
            signal.signal(number, before[number])

    return put_back


@contextmanager
def deferred() -> Iterator[None]:
    """A second Ctrl-C, or a SIGTERM, is not heard inside: what is being ended is ended to the last process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGINT, *ENDING):
        before[number] = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
