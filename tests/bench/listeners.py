"""Many websockets in a process of its own: the events of one answer each."""

import asyncio
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from ragcore.events import CHAT_EVENTS
from tests.bench.crowd import Recorder, open_ear
from tests.support.api import Client

TERMINALS = (b'"object":"done"', b'"object":"error"')


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
        return cls(client.base_url, client.token, question)


def follow(targets: list[Target]) -> list[Received]:
    """A websocket for each, until its answer has ended."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_followed, targets).result()


def _followed(targets: list[Target]) -> list[Received]:
    async def all_of_them() -> list[Recorder]:
        return await asyncio.gather(*map(_record, targets))

    return [_received(recorder) for recorder in asyncio.run(all_of_them())]


async def _record(target: Target) -> Recorder:
    subject = {"type": CHAT_EVENTS, "id": target.question}
    recorder = await open_ear(target.url, target.token, subject, lambda commands: Recorder(commands, TERMINALS))
    await recorder.over()
    return recorder


def _received(recorder: Recorder) -> Received:
    received = Received()
    for now, message in recorder.messages():
        if message["event"] != "error":
            received.take(message["payload"]["doc"], now)
    return received
