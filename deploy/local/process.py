"""One process of the embedded stack: started, watched and ended by its own pid."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from deploy.local import logs
from deploy.local.ending import GRACE, end_trees
from deploy.local.errors import StackError, StartFailed

START_TIMEOUT = 60.0
POLL = 0.05

# The kernel ends a guarded child when the thread that made it ends: this one lives as long as the starter.
_spawner = ThreadPoolExecutor(1, thread_name_prefix="spawner")


@dataclass
class Process:
    """A process and its log. `is_ready` says whether it serves; it is asked again until it does."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    log: Path
    is_ready: Callable[[Process], bool]
    guarded: bool
    """The process ends when its starter dies, however that dies."""
    _spawned: Future[psutil.Popen] | None = field(default=None, repr=False)
    _log_start: int = 0

    @property
    def pid(self) -> int:
        return self.handle.pid

    @property
    def alive(self) -> bool:
        return self._spawned is not None and self.handle.poll() is None

    @property
    def handle(self) -> psutil.Popen:
        if self._spawned is None:
            raise StackError(f"{self.name} was not started")
        return self._spawned.result()

    def spawn(self) -> None:
        """Start it and return at once. Raises `StartFailed` when there is no such command."""
        if shutil.which(self.argv[0]) is None:
            raise StartFailed(f"{self.name} did not start: {self.argv[0]} is not installed; run `make setup`")
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._spawned = _spawner.submit(self._spawn)
        self._spawned.result()

    def start(self) -> None:
        """Start it and wait until it serves. Raises `StartFailed`."""
        self.spawn()
        wait_ready([self])

    def restart(self) -> None:
        self.stop()
        self.start()

    def stop(self) -> None:
        """End it in order (SIGTERM), with its children."""
        end_all([self])

    def kill(self) -> None:
        """End it and its children at once (SIGKILL), as a crash would."""
        end_all([self], grace=0)

    def output(self) -> str:
        """What it has written to its log since its last start."""
        return logs.read_from(self.log, self._log_start)

    def why_it_ended(self) -> str:
        status = self.handle.poll()
        how = f"was ended by signal {-status}" if status and status < 0 else f"ended with status {status}"
        return f"{how}: {logs.last_words(self.output())} (log: {self.log})"

    def _spawn(self) -> psutil.Popen:
        guard = ["setpriv", "--pdeathsig", "KILL", "--"] if self.guarded and shutil.which("setpriv") else []
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C in the terminal reaches the starter alone, which ends all in order.
            return psutil.Popen(
                [*guard, *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.cwd,
                env=dict(self.env),
                start_new_session=True,
            )


def wait_ready(processes: Sequence[Process], timeout: float = START_TIMEOUT) -> None:
    """Wait until all of them serve. Raises `StartFailed` for the first one that ended or is too late."""
    deadline = time.monotonic() + timeout
    waiting = list(processes)
    while waiting:
        for process in waiting:
            _check_start(process, late=time.monotonic() > deadline)
        waiting = [process for process in waiting if not (process.is_ready(process) and process.alive)]
        time.sleep(POLL if waiting else 0)


def _check_start(process: Process, *, late: bool) -> None:
    if not process.alive:
        text = f"{process.name} did not start: it {process.why_it_ended()}"
        raise StartFailed(text, port_taken=logs.says_port_taken(process.output()))
    if late:
        last = logs.last_words(process.output())
        raise StartFailed(f"{process.name} did not answer in time: {last} (log: {process.log})")


def end_all(processes: Sequence[Process], grace: float = GRACE) -> None:
    end_trees([process.handle for process in processes if process.alive], grace)
