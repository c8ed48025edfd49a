"""Many websockets of one process, which costs little for each: what comes on them is timed, and not looked at."""

import asyncio
import base64
import json
import os
import time
from typing import Any
from urllib.parse import urlsplit

from ragcore import loopback

AT_ONCE = 50  # that are opened side by side
MASK = b"\0\0\0\0"
PING, PONG = b"\x89\0", b"\x8a\x80" + MASK


class Ear(asyncio.Protocol):
    """One websocket: `heard` is when something came last, by `time.time()`."""

    transport: asyncio.Transport

    def __init__(self, waiting: bytes) -> None:
        self._waiting = waiting
        self._head = b""
        self.open = asyncio.get_running_loop().create_future()
        self.heard = 0.0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if PING in (data[:2], data[-2:]):
            self.transport.write(PONG)
            if data == PING:
                return
        self.heard = time.time()
        if self.open.done():
            return
        self._head += data
        if self._waiting and b"\r\n\r\n" in self._head:
            assert self._head.startswith(b"HTTP/1.1 101"), self._head
            self.transport.write(self._waiting)
            self._waiting = b""
        if b"405 Method" in self._head:  # the answer to the last command: what came before it is obeyed
            self.open.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        self.heard = -1.0


async def open_ears(base_url: str, token: str, subscription: dict[str, str], count: int) -> list[Ear]:
    """Websockets that have said AUTH and SUBSCRIBE, and were obeyed."""
    url, host = loopback.resolve(f"{base_url}/realtime/")
    commands = [("AUTH", token), ("SUBSCRIBE", subscription), ("MARK", "")]
    waiting = b"".join(_frame({"method": method, "payload": payload}) for method, payload in commands)
    limit = asyncio.Semaphore(AT_ONCE)

    async def one() -> Ear:
        async with limit:
            server = urlsplit(url)
            loop = asyncio.get_running_loop()
            transport, ear = await loop.create_connection(lambda: Ear(waiting), server.hostname, server.port)
            transport.write(_upgrade(host))
            await asyncio.wait_for(ear.open, 60)
            return ear

    return await asyncio.gather(*(one() for _ in range(count)))


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
    return b"\x81" + length + MASK + data
