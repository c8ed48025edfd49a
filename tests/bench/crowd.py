"""Many websockets of one process, which costs little for each: what comes on them is timed, and read when all is
over. What is measured is not the measuring."""

import asyncio
import base64
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ragcore import loopback

AT_ONCE = 50  # that are opened side by side
OPENED_WITHIN, OVER_WITHIN = 60, 120  # seconds
MASK = b"\0\0\0\0"
TEXT = b"\x81"
PING, PONG = b"\x89\0", b"\x8a\x80" + MASK
HEAD_END = b"\r\n\r\n"


class Ear(asyncio.Protocol):
    """One websocket: `heard` is when something came last, by `time.time()`."""

    transport: asyncio.Transport

    def __init__(self, commands: bytes) -> None:
        self._commands = commands
        # the answer to the last command, which is none: what came before it is obeyed
        self._opened_by = b"405 Method" if commands else HEAD_END
        self._head = b""
        self.open = asyncio.get_running_loop().create_future()
        self.heard = 0.0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if PING in data:
            self.transport.write(PONG)
            if data == PING:
                return
        self.heard = time.time()
        if self.open.done():
            return
        self._head += data
        if self._commands and HEAD_END in self._head:
            assert self._head.startswith(b"HTTP/1.1 101"), self._head
            self.transport.write(self._commands)
            self._commands = b""
        if self._opened_by in self._head:
            self.open.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        self.heard = -1.0
        if not self.open.done():
            self.open.set_exception(ConnectionError(f"the websocket was closed: {self._head[-500:]!r}"))


class Recorder(Ear):
    """Keeps what comes, until one of `terminals` is in it."""

    def __init__(self, commands: bytes, terminals: Sequence[bytes]) -> None:
        super().__init__(commands)
        self._terminals = terminals
        self._pieces: list[tuple[float, bytes]] = []
        self._tail = b""
        self._over = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._pieces.append((time.time(), data))
        super().data_received(data)
        recent = self._tail + data
        if any(terminal in recent for terminal in self._terminals):
            self._end()
        self._tail = recent[-max(map(len, self._terminals)) :]

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._end()

    def _end(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    async def over(self) -> None:
        """Raises TimeoutError."""
        await asyncio.wait_for(self._over, OVER_WITHIN)
        self.transport.close()

    def messages(self) -> Iterator[tuple[float, Any]]:
        """The JSON of each, with the time at which its last piece came."""
        waiting, is_open = b"", False
        for now, data in self._pieces:
            waiting += data
            if not is_open:
                _, end, behind = waiting.partition(HEAD_END)
                if not end:
                    continue
                waiting, is_open = behind, True
            while (frame := _frame_of(waiting)).stop <= len(waiting):
                if waiting.startswith(TEXT):
                    yield now, json.loads(waiting[frame])
                waiting = waiting[frame.stop :]


E = TypeVar("E", bound=Ear)


async def open_ears(base_url: str, token: str, subscription: dict[str, str], count: int) -> list[Ear]:
    """Websockets that have said AUTH and SUBSCRIBE, and were obeyed."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def one() -> Ear:
        async with limit:
            return await open_ear(base_url, token, subscription, Ear)

    return await asyncio.gather(*(one() for _ in range(count)))


async def open_ear(base_url: str, token: str, subscription: dict[str, str], kind: Callable[[bytes], E]) -> E:
    url, host = loopback.resolve(f"{base_url}/realtime/")
    commands = [("AUTH", token), ("SUBSCRIBE", subscription), ("MARK", "")]
    said = b"".join(_frame({"method": method, "payload": payload}) for method, payload in commands)
    server = urlsplit(url)
    ear = await connect(server.hostname or "", server.port or 80, host, lambda: kind(said))
    await asyncio.wait_for(ear.open, OPENED_WITHIN)
    return ear


async def connect(address: str, port: int, host: str, kind: Callable[[], E]) -> E:
    """The upgrade is asked for, and not answered yet."""
    transport, ear = await asyncio.get_running_loop().create_connection(kind, address, port)
    transport.write(_upgrade(host))
    return ear


def _upgrade(host: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET /realtime/ HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: io.cozy.websocket\r\n\r\n"
    ).encode()


def _frame(message: dict[str, Any]) -> bytes:
    data = json.dumps(message).encode()
    assert len(data) < 1 << 16
    length = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + len(data).to_bytes(2, "big")
    return TEXT + length + MASK + data


def _frame_of(data: bytes) -> slice:
    """Where the first frame of a server has its payload: it stops behind what there is where it is not whole."""
    short = data[1] if len(data) > 1 else 0
    longer = {126: 2, 127: 8}.get(short, 0)  # bytes of a longer length
    begin = 2 + longer
    return slice(begin, begin + (int.from_bytes(data[2:begin]) if longer else short))
