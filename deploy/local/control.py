"""A stack in the background: `up`, `down`, `status`. Each gives the lines to print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deploy.local import state
from deploy.local.ending import GRACE, end_trees
from deploy.local.services import NAMES, PROJECT, SERVERS
from deploy.local.stack import Stack

PUBLIC_PORT = 8080


def up(data: Path) -> Iterator[str]:
    """Start what is not running. Raises `StackError`; a stack of which something has died is started anew."""
    data = data.resolve()
    found = state.load(data)
    if found and len(found.living()) == len(found.processes):
        yield f"Runs already in {data}"
    else:
        yield from down(data) if found else ()
        Stack(data, port=PUBLIC_PORT, background=True).start()
        yield f"Runs in {data}"
    yield from urls(data)


def down(data: Path) -> Iterator[str]:
    """End the stack of this folder, and nobody else's process that has got one of its pids since."""
    data = data.resolve()
    found = state.load(data)
    if found is None or not found.living():
        yield f"Nothing runs in {data}"
    else:
        _end(found)
        yield f"Stopped in {data}"
    state.forget(data)


def status(data: Path) -> Iterator[tuple[str, bool]]:
    """A line for each process of the stack, and whether it lives."""
    found = state.load(data.resolve()) or state.State()
    living = found.living()
    for name in NAMES:
        process = living.get(name)
        yield f"{name:14}{f'running, pid {process.pid}' if process else 'not running'}", process is not None


def urls(data: Path) -> Iterator[str]:
    found = state.load(data.resolve()) or state.State()
    for name, url in found.urls.items():
        yield f"{name:14}{url}"


def _end(found: state.State) -> None:
    """First the starter in the foreground, if there is one: it ends its own; then what is left."""
    starter = found.starter.find() if found.starter else None
    end_trees([starter] if starter else [], grace=3 * GRACE)
    for group in (PROJECT, SERVERS):
        living = found.living()
        end_trees([living[service.name] for service in group if service.name in living])
