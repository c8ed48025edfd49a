"""Free ports of the loopback."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

HOST = "127.0.0.1"
LOWEST = 10_000
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def choose_ports(names: Sequence[str], preferred: dict[str, int]) -> dict[str, int]:
    """A free port for each name, the `preferred` one where it is free; no two the same."""
    with ExitStack() as held:
        return {name: _hold(preferred.get(name), held) for name in names}


def _hold(preferred: int | None, held: ExitStack) -> int:
    """Bind a port until `held` is closed, so that the next search does not find it again."""
    for port in _candidates(preferred):
        listener = socket.socket()
        # What servers do as well: a port whose last connections are in TIME_WAIT is free.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.enter_context(listener)
        try:
            listener.bind((HOST, port))
        except OSError:
            continue
        return int(listener.getsockname()[1])
    raise AssertionError("port 0 always binds")


def _candidates(preferred: int | None) -> list[int]:
    """Ports to try in turn.

    Rather not one that the kernel hands to outgoing connections: a client that tries again and again to
    reach a server that is down would in the end be given the server's own port, and connect to itself.
    """
    below = range(LOWEST, _first_ephemeral())
    drawn = random.sample(below, min(50, len(below)))  # noqa: S311 (no secret)
    return [*([preferred] if preferred else []), *drawn, 0]


def _first_ephemeral() -> int:
    try:
        return int(EPHEMERAL_RANGE.read_text().split()[0])
    except FileNotFoundError:
        return LOWEST
