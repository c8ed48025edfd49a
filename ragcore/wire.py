"""Connections that send the head of a request together with its body: one packet, and one call to the system."""

import socket
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

LARGEST_JOINED = 1 << 16  # bytes; what is larger is sent as it is


def is_silent(raw: socket.socket) -> bool:
    """Whether nothing is to be read: neither its end, nor what nobody has asked for."""
    try:
        raw.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


class Joined:
    """What is sent first is held until something follows it, or the request is whole."""

    _held: bytes | None = None  # None: nothing is to be held

    @property
    def is_connected(self: Any) -> bool:
        """Whether the server has left it open, asked before each request. gevent's own way is a turn of its loop."""
        raw = getattr(self.sock, "_sock", None)
        if raw is None:
            return bool(super().is_connected)  # type: ignore[misc]
        return is_silent(raw)

    def request(self: Any, *args: Any, **kwargs: Any) -> None:
        self._held = b""
        super().request(*args, **kwargs)  # type: ignore[misc]
        if self._held:
            held, self._held = self._held, None
            super().send(held)  # type: ignore[misc]

    def send(self: Any, data: Any) -> None:
        if self._held == b"" and isinstance(data, bytes):
            self._held = data
            return
        held, self._held = self._held, None
        if held and isinstance(data, bytes) and len(data) <= LARGEST_JOINED:
            data = held + data
        elif held:
            super().send(held)  # type: ignore[misc]
        super().send(data)  # type: ignore[misc]


class _Http(Joined, HTTPConnection): ...


class _Https(Joined, HTTPSConnection): ...


class HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


POOLS = {"http": HttpPool, "https": HttpsPool}
