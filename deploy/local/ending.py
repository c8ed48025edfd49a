"""Ending processes by their pids, with all that they started."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

GRACE = 5.0
POLL = 0.02


def end_trees(processes: Sequence[psutil.Process], grace: float = GRACE) -> None:
    """SIGTERM to each; after `grace` seconds SIGKILL to what is left of them and of their children."""
    trees = [member for process in processes for member in _tree(process)]
    if grace:
        _signal(processes, psutil.Process.terminate)
        _wait_gone(processes, grace)
    _signal([process for process in trees if not _gone(process)], psutil.Process.kill)
    _wait_gone(trees, GRACE)


def _wait_gone(processes: Sequence[psutil.Process], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not all(_gone(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(POLL)


def _gone(process: psutil.Process) -> bool:
    """Ended. A zombie has: the first process of a container may never take it away."""
    if isinstance(process, psutil.Popen):
        return process.poll() is not None
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _tree(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def _signal(processes: Sequence[psutil.Process], send: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            send(process)
