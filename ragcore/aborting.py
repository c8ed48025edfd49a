"""Calls that another thread can break off, also while they wait for their headers.

requests gives a response once its headers are there; until then only the connection can be closed. Its time-outs begin
anew with each byte that comes: here a call has an end as well.
"""

import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


class Aborted(OSError):
    """The call was broken off on purpose."""


# Who a pooled connection belongs to is changed, and looked at, by one thread at a time.
_lock = threading.Lock()


class Abortable:
    """One call. `abort` closes its connection, whichever thread waits for it, and never that of a later call."""

    def __init__(self) -> None:
        self._connection: _Watched | None = None
        self._socket: socket.socket | None = None
        self._aborted = False
        self.deadline = math.inf  # monotonic

    def abort_after(self, seconds: float) -> None:
        """Counts from now on, as long as the call is under way; a later call of this counts instead."""
        self.deadline = time.monotonic() + seconds
        _late_calls.look_at(self.deadline)

    def abort(self) -> None:
        with _lock:
            self._aborted = True
            sock = self._own_socket()
        if sock:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def set_timeout(self, seconds: float) -> None:
        """How long it waits from now on for each piece; requests has no way to say so once the headers are there."""
        with _lock, suppress(OSError):
            if sock := self._own_socket():
                sock.settimeout(seconds)

    def uses(self, connection: "_Watched") -> None:
        """Raises Aborted."""
        self._connection, self._socket = connection, connection.sock
        if self._aborted:
            raise Aborted

    def _own_socket(self) -> socket.socket | None:
        """None once the connection is another call's. Where the server will close it, it has let its socket go."""
        connection = self._connection
        if connection is None or (connection.call is not self and connection.sock is self._socket):
            return None
        return self._socket

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """The requests of this thread inside the context are this call's."""
        token = _CURRENT.set(self)
        _late_calls.watch(self)
        try:
            yield
        finally:
            _late_calls.forget(self)
            _CURRENT.reset(token)
            with _lock:
                self._connection = self._socket = None


class _LateCalls:
    """One thread of the process aborts the calls whose time is over. It sleeps until the first of them may be."""

    def __init__(self) -> None:
        self._calls: set[Abortable] = set()
        self._changed = threading.Condition()
        self._looks_at = math.inf  # monotonic
        self._thread: threading.Thread | None = None

    def watch(self, call: Abortable) -> None:
        with self._changed:
            self._calls.add(call)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="late calls", daemon=True)
                self._thread.start()
        self.look_at(call.deadline)

    def forget(self, call: Abortable) -> None:
        """The thread is not woken: it finds out when it looks."""
        with self._changed:
            self._calls.discard(call)

    def look_at(self, deadline: float) -> None:
        with self._changed:
            if deadline < self._looks_at:
                self._looks_at = deadline
                self._changed.notify()

    def _run(self) -> None:
        while True:
            for call in self._late():
                call.abort()

    def _late(self) -> list[Abortable]:
        """Those whose time is over by now, once there may be one; none of them is given twice."""
        with self._changed:
            self._looks_at = min((call.deadline for call in self._calls), default=math.inf)
            left = self._looks_at - time.monotonic()
            if left > 0:
                self._changed.wait(None if left == math.inf else left)
            late = [call for call in self._calls if call.deadline <= time.monotonic()]
            self._calls.difference_update(late)
        return late


_late_calls = _LateCalls()
_CURRENT: ContextVar[Abortable | None] = ContextVar("call", default=None)


class _Watched:
    """Tells the call which connection it uses: before it is sent, and once a new connection is there."""

    call: Abortable | None = None
    sock: socket.socket | None

    def connect(self: Any) -> None:
        super().connect()  # type: ignore[misc]
        self._tell()

    def request(self: Any, *args: Any, **kwargs: Any) -> None:
        self._tell()
        super().request(*args, **kwargs)  # type: ignore[misc]

    def _tell(self) -> None:
        with _lock:
            self.call = _CURRENT.get()
            if self.call:
                self.call.uses(self)


class _Http(_Watched, HTTPConnection): ...


class _Https(_Watched, HTTPSConnection): ...


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


class Adapter(HTTPAdapter):
    """Whose calls can be aborted."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
