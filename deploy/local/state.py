"""The state file of a stack: which processes it has, so that another command can see and end them."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from deploy.local.errors import AlreadyRunning

# A process's start is computed from the time of the boot, which the kernel may correct by a second.
SAME_START = 2.0


@dataclass(frozen=True)
class Birth:
    """A process that cannot be mistaken for a later one with the same pid."""

    pid: int
    created: float
    """Seconds since the epoch."""

    @classmethod
    def of(cls, pid: int) -> Birth | None:
        """None when the process is gone already."""
        try:
            return cls(pid, psutil.Process(pid).create_time())
        except psutil.NoSuchProcess:
            return None

    def find(self) -> psutil.Process | None:
        """The process, when it still lives."""
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.created) < SAME_START
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        return None


@dataclass
class State:
    """`starter`: the process that stays in the foreground and ends the others; None when there is none."""

    urls: dict[str, str] = field(default_factory=dict)
    starter: Birth | None = None
    processes: dict[str, Birth] = field(default_factory=dict)

    def living(self) -> dict[str, psutil.Process]:
        found = {name: birth.find() for name, birth in self.processes.items()}
        return {name: process for name, process in found.items() if process is not None}

    def save(self, data: Path) -> None:
        """Whole or not at all: a reader never meets half a file."""
        draft = _path(data).with_suffix(".new")
        draft.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        draft.replace(_path(data))


def load(data: Path) -> State | None:
    """The state of the stack of this folder; None where none was started, or its file is unreadable."""
    try:
        raw = json.loads(_path(data).read_text(encoding="utf-8"))
        return State(
            urls=raw["urls"],
            starter=Birth(**raw["starter"]) if raw["starter"] else None,
            processes=_births(raw["processes"]),
        )
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def forget(data: Path) -> None:
    _path(data).unlink(missing_ok=True)


@contextmanager
def exclusively(data: Path) -> Iterator[None]:
    """One start or stop at a time in a folder. Raises `AlreadyRunning` when another is under way."""
    with (data / "stack.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(f"a stack is being started in {data}") from None
        yield


def _births(raw: Mapping[str, Mapping[str, float]]) -> dict[str, Birth]:
    return {name: Birth(int(birth["pid"]), birth["created"]) for name, birth in raw.items()}


def _path(data: Path) -> Path:
    return data / "stack.json"
