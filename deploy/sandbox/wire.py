"""The socket under a request: waiting while it lives, and cutting it."""

import select
import socket
import time
from collections.abc import Callable
from typing import Any

LOOK_EVERY = 0.01


class ClientGone(Exception):
    """The client closed its connection before the answer was whole."""


class Connection:
    def __init__(self, environ: dict[str, Any]) -> None:
        self._socket: socket.socket = environ["gunicorn.socket"]

    def wait(self, seconds: float) -> None:
        """Raises `ClientGone` as soon as the client closes, not only at the next write."""
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return
        if self._is_closed():
            raise ClientGone
        # What came is the rest of the body or a next request: not ours to read.
        time.sleep(max(0.0, deadline - time.monotonic()))

    def wait_until(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            self.wait(LOOK_EVERY)

    def cut(self) -> None:
        """Nothing more reaches the client, not even the end of the body."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            raise ClientGone from None

    def _is_closed(self) -> bool:
        try:
            return self._socket.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True
