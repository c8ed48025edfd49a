"""Messages accepted, POST to 202, by 16 clients, beside the same GETs and PUTs bare.

Both loads come from this process, in turns of some seconds, over kept connections. No worker runs: what is accepted
stays in the queue, so that the figure is that of the API, the database and Redis alone.
"""

import asyncio
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL, database_name
from tests.bench.clock import p99
from tests.bench.kept import Kept
from tests.bench.people import runtime_of
from tests.bench.row import Row, at_least_times, times

CLIENTS = 16
ROUNDS = 16
SECONDS = 1.5  # of a round
SERVICES = ("redis", "couchdb", "api")
CONFIG = {"limits": {"chat_per_minute": 0}}
SCOPE = "io.cozy.ai.chat.conversations io.cozy.files"
# a ledger of its own: questions that nobody asked would be ended by the sweep, and the other load pay for that
BARE_LEDGER = "rag-owed-bare"

Send = Callable[[Kept, str], Awaitable[None]]


@dataclass
class Load:
    """`send` sends one message, the first of a conversation: those behind it would wait for its answer."""

    url: str
    headers: dict[str, str]
    send: Send
    took: list[float] = field(default_factory=list)  # seconds
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.took) / self.seconds

    async def run(self, seconds: float) -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Kept(self.url, self.headers)) for _ in range(CLIENTS)]
            began = time.monotonic()
            await asyncio.gather(*(self._client(client, began + seconds) for client in clients))
            self.seconds += time.monotonic() - began

    async def _client(self, client: Kept, until: float) -> None:
        while time.monotonic() < until:
            began = time.monotonic()
            await self.send(client, uuid.uuid4().hex)
            self.took.append(time.monotonic() - began)


def accepted(runtime: Runtime, instance: Instance) -> Load:
    async def send(client: Kept, conversation: str) -> None:
        path = f"/ai/chat/conversations/{conversation}"
        status, body = await client.ask("POST", path, {"q": "One question of many, and which one?"})
        assert status == 202, body

    token = create_token(instance, "cli", "bench", SCOPE)
    return Load(runtime.config.public_url(instance.domain), {"Authorization": f"Bearer {token}"}, send)


def bare(runtime: Runtime, instance: Instance, like: dict[str, Any]) -> Load:
    """`like` is a conversation with one question, as it is saved."""

    def path(prefix: str, doctype: str, doc_id: str) -> str:
        return f"/{quote(database_name(prefix, doctype), safe='')}/{quote(doc_id, safe='')}"

    async def send(client: Kept, conversation: str) -> None:
        place, question = path(instance.prefix, CONVERSATIONS, conversation), uuid.uuid4().hex
        status, body = await client.ask("GET", place)
        assert status == 404, body
        messages = [{**like["messages"][0], "id": question}]
        status, body = await client.ask("PUT", place, {**like, "_id": conversation, "messages": messages})
        assert status == 201, body
        owed = {
            "_id": f"question:{instance.domain}:{question}",
            "domain": instance.domain,
            "conversation_id": conversation,
            "id": question,
            "at": time.time(),
        }
        status, body = await client.ask("PUT", path(GLOBAL.prefix, BARE_LEDGER, owed["_id"]), owed)
        assert status == 201, body

    runtime.store.make_database(GLOBAL, BARE_LEDGER)
    return Load(runtime.config.couchdb.url, {}, send)


def _like(load: Load, runtime: Runtime, instance: Instance) -> dict[str, Any]:
    """A conversation of one question, without what the database adds."""
    conversation = uuid.uuid4().hex

    async def once() -> None:
        async with Kept(load.url, load.headers) as client:
            await load.send(client, conversation)

    asyncio.run(once())
    doc = runtime.store.get(instance, CONVERSATIONS, conversation)
    return {name: value for name, value in doc.items() if not name.startswith("_")}


def measure(quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as data, Stack(Path(data), services=SERVICES, config=CONFIG) as stack:
        runtime = runtime_of(stack)
        instance = runtime.instances.add("accepted.localhost")
        ours = accepted(runtime, instance)
        alone = bare(runtime, instance, _like(ours, runtime, instance))
        for _ in range(1 if quick else ROUNDS):
            for load in (alone, ours):
                asyncio.run(load.run(SECONDS))
    beside = "the same GETs and PUTs bare"
    rate = Row(f"messages accepted, {CLIENTS} clients", ours.rate, "/s", beside, alone.rate, at_least_times(0.6))
    slowest = [p99(load.took) * 1000 for load in (ours, alone)]
    return [rate, Row("the same, 99th percentile", slowest[0], "ms", beside, slowest[1], times(4))]
