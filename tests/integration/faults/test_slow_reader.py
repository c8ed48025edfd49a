"""A client that reads nothing, among two hundred: it is cut off, and nobody waits for it."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median, quantiles

import psutil
import pytest
import websocket

from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS, Event
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start
from tests.support.api import Client, Websocket
from tests.support.chaos import Tell, times

SOCKETS = 200
EVENTS = times(20, 100)  # that all are told
APART = 0.1  # seconds
LARGE = "x" * 500_000  # of the events that one alone is told, four between two of the others
MiB = 1 << 20
MOST = 40 * MiB  # that are published for one that reads nothing: 8 MiB wait, and what the kernel takes


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "api") as stack:
        yield stack


@dataclass
class Reader:
    """`delays` in seconds from the publishing of each event, by its number."""

    socket: Websocket
    delays: dict[int, float] = field(default_factory=dict)
    doubled: int = 0

    def start(self) -> "Reader":
        self.socket.sync()
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def _read(self) -> None:
        with contextlib.suppress(websocket.WebSocketException, OSError):
            for message in self.socket:
                doc = message["payload"]["doc"]
                if "number" in doc:
                    self.doubled += doc["number"] in self.delays
                    self.delays[doc["number"]] = time.time() - doc["at"]


@dataclass
class API:
    """Its processes, as the machine sees them."""

    processes: list[psutil.Process]

    @classmethod
    def of(cls, stack: Stack) -> "API":
        handle = stack.processes["api"].handle
        return cls([handle, *handle.children(recursive=True)])

    def memory(self) -> float:
        return sum(process.memory_info().rss for process in self.processes)

    def holds(self, sock: socket.socket) -> bool:
        ours = sock.getsockname()[1]
        ends = (connection.raddr for process in self.processes for connection in process.net_connections())
        return any(end and end.port == ours for end in ends)


@dataclass
class Audience:
    """`publish` tells all of one event, and one of large ones too."""

    runtime: Runtime
    client: Client
    readers: list[Reader]
    published: int = 0  # large ones

    def publish(self, first: int) -> None:
        for number in range(first, first + EVENTS):
            for _ in range(4):
                self._publish(CONVERSATIONS, {"content": LARGE})
                self.published += 1
            self._publish(CHAT_EVENTS, {"number": number, "at": time.time()})
            time.sleep(APART)

    def _publish(self, doctype: str, doc: dict[str, object]) -> None:
        self.runtime.publisher.publish(self.client.instance.domain, Event("CREATED", doctype, "q", doc))

    def have(self, first: int) -> bool:
        return all(first + EVENTS - 1 in reader.delays for reader in self.readers)

    def delays(self, first: int) -> list[float]:
        return [reader.delays[number] for reader in self.readers for number in range(first, first + EVENTS)]


def shown(delays: list[float]) -> str:
    return f"{median(delays) * 1000:.0f} ms median, {quantiles(delays, n=100)[98] * 1000:.0f} ms 99th percentile"


class Watch(threading.Thread):
    """The memory of the API as long as it holds a socket, and the large events that were published until then."""

    def __init__(self, api: API, sock: socket.socket, audience: Audience) -> None:
        super().__init__(daemon=True)
        self.before = self.highest = api.memory()
        self._api, self._sock, self._audience = api, sock, audience
        self._first = self._last = audience.published

    def run(self) -> None:
        while self._api.holds(self._sock):
            self.highest = max(self.highest, self._api.memory())
            time.sleep(0.05)
        self._last = self._audience.published

    @property
    def bytes(self) -> int:
        return (self._last - self._first) * len(LARGE)


def test_a_client_that_reads_nothing(own: Stack, runtime: Runtime, client: Client, until: Callable, tell: Tell) -> None:
    """First it reads, then another in its place does not."""
    readers = [Reader(client.socket({"type": CHAT_EVENTS})).start() for _ in range(SOCKETS - 1)]
    audience = Audience(runtime, client, readers)
    both = ({"type": CHAT_EVENTS}, {"type": CONVERSATIONS})
    with client.socket(*both) as reads:
        Reader(reads).start()
        audience.publish(0)
        until(lambda: audience.have(0))
    slow = client.socket(*both)
    slow.sync()
    slow.socket.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    api = API.of(own)
    watch = Watch(api, slow.socket.sock, audience)
    watch.start()
    audience.publish(EVENTS)
    until(lambda: audience.have(EVENTS) and not watch.is_alive())
    lost = sum(2 * EVENTS - len(reader.delays) for reader in readers)
    doubled = sum(reader.doubled for reader in readers)
    figures = {
        "MiB until it was cut off": round(watch.bytes / MiB),
        "MiB of the API at the highest": f"{round((watch.highest - watch.before) / MiB):+}",
        "MiB afterwards": f"{round((api.memory() - watch.before) / MiB):+}",
        "to the others": shown(audience.delays(EVENTS)),
        "when it reads": shown(audience.delays(0)),
    }
    tell(f"{SOCKETS} sockets", "one of them reads nothing", lost=lost, doubled=doubled, **figures)
    for reader in readers:
        reader.socket.socket.abort()
    assert lost == doubled == 0
    assert watch.bytes < MOST
    assert watch.highest - watch.before < 2 * MOST
