"""Many websockets in a process of its own, without a thread for each: what is measured is not the measuring."""

import asyncio
import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from websockets.asyncio.client import connect

from deploy.local.ports import HOST
from ragcore.events import CHAT_EVENTS
from tests.support.api import Client

PROTOCOL: Any = "io.cozy.websocket"


@dataclass
class Received:
    """The events of one answer, as its websocket got them; delays in seconds since openRAG sent the chunk."""

    positions: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    terminals: list[str] = field(default_factory=list)

    def take(self, doc: dict[str, Any], now: float) -> None:
        if doc["object"] == "delta":
            self.positions.append(doc["position"])
            self.delays.append(now - float(doc["content"]))
        elif doc["object"] in ("done", "error"):
            self.terminals.append(doc["object"])

    def lost(self, chunks: int) -> int:
        return len(set(range(chunks)) - set(self.positions)) + (not self.terminals)

    @property
    def doubled(self) -> int:
        return len(self.positions) - len(set(self.positions)) + max(len(self.terminals) - 1, 0)

    @property
    def misordered(self) -> int:
        return sum(after < before for before, after in zip(self.positions, self.positions[1:], strict=False))


@dataclass(frozen=True)
class Target:
    """A question, and who listens to its events."""

    url: str
    token: str
    question: str

    @classmethod
    def of(cls, client: Client, question: str) -> "Target":
        return cls(client.base_url.replace("http", "ws", 1) + "/realtime/", client.token, question)


def follow(targets: list[Target]) -> list[Received]:
    """A websocket for each, until its answer has ended."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_followed, targets).result()


def _followed(targets: list[Target]) -> list[Received]:
    async def all_of_them() -> list[Received]:
        return await asyncio.gather(*map(_follow, targets))

    return asyncio.run(all_of_them())


async def _follow(target: Target) -> Received:
    received = Received()
    async with connect(target.url, host=HOST, subprotocols=[PROTOCOL], compression=None) as socket:
        await socket.send(json.dumps({"method": "AUTH", "payload": target.token}))
        subject = {"type": CHAT_EVENTS, "id": target.question}
        await socket.send(json.dumps({"method": "SUBSCRIBE", "payload": subject}))
        async for message in socket:
            received.take(json.loads(message)["payload"]["doc"], time.time())
            if received.terminals:
                return received
    return received
