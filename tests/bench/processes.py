"""What the processes of a stack take."""

from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from deploy.local.stack import Stack


@dataclass(frozen=True)
class Usage:
    """Of a process and its children: seconds of a processor, bytes of memory."""

    seconds: float
    memory: int

    @classmethod
    def of(cls, stack: Stack, name: str) -> "Usage":
        members = list(processes(stack, name))
        return cls(sum(sum(member.cpu_times()[:2]) for member in members), sum(map(_memory, members)))


def processes(stack: Stack, name: str) -> Iterator[psutil.Process]:
    leader = psutil.Process(stack.processes[name].pid)
    yield leader
    yield from leader.children(recursive=True)


def _memory(process: psutil.Process) -> int:
    """The proportional set, else the resident one."""
    found = process.memory_full_info()
    return int(getattr(found, "pss", 0) or found.rss)
