"""From the POST of a question to its first delta at the websocket, one at a time, beyond what openRAG, the database and
Redis take themselves.

Each question is measured beside a bare completion of openRAG, and beside the round trips that lie before the first
delta (`round_trips` lists them), made bare.
"""

import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import requests

from deploy.local.stack import Stack
from ragcore import loopback
from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.bench.clock import median
from tests.bench.people import runtime_of
from tests.bench.row import Row, more_by
from tests.support.api import Client, Websocket
from tests.support.sandbox import Sandbox

QUESTIONS = 100


@dataclass(frozen=True)
class Times:
    """In seconds."""

    whole: float
    openrag: float
    trips: float


@dataclass(frozen=True)
class Asker:
    runtime: Runtime
    instance: Instance
    client: Client
    sandbox: Sandbox
    session: requests.Session

    def ask(self, socket: Websocket) -> Times:
        self.sandbox.script({"content": "Word"}, times=2)
        began = time.monotonic()
        self.client.ask("Why?", documents=False)
        while socket.receive()["payload"]["doc"]["object"] != "delta":
            pass
        whole = time.monotonic() - began
        while socket.receive()["payload"]["doc"]["object"] != "done":
            pass
        return Times(whole, self._bare_completion(), self._bare_trips())

    def _bare_completion(self) -> float:
        """To the first chunk, on a kept connection."""
        body = {"messages": [{"role": "user", "content": "Why?"}], "stream": True}
        began = time.monotonic()
        with self.session.post(f"{self.sandbox.url}/v1/chat/completions", json=body, stream=True) as response:
            next(iter(response.iter_lines(chunk_size=1)))
            took = time.monotonic() - began
            for _ in response.iter_lines():
                pass
        return took

    def _bare_trips(self) -> float:
        """A conversation is looked for, written, and read again by the worker; Redis is asked for a mark, takes and
        gives a message, which it notes as given, a claim, and an event."""
        store, redis, doc_id = self.runtime.store, self.runtime.redis, uuid.uuid4().hex
        messages = [{"id": uuid.uuid4().hex, "role": "user", "content": "Why?"}]
        began = time.monotonic()
        doc = store.get_or_new(self.instance, CONVERSATIONS, doc_id)
        store.save(self.instance, CONVERSATIONS, {**doc, "messages": messages})
        redis.set(f"bench:{doc_id}", "mark", px=1000)
        redis.lpush("bench:queue", doc_id)
        redis.brpop(["bench:queue"], timeout=1)
        redis.hset("bench:given", doc_id, "message")
        redis.set(f"bench:{doc_id}", "claim", px=1000)
        store.get(self.instance, CONVERSATIONS, doc_id)
        redis.xadd("bench:history", {"e": "event"}, maxlen=1000)
        return time.monotonic() - began


def measure(quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as data, Stack(Path(data)) as stack:
        runtime = runtime_of(stack)
        instance = runtime.instances.add("first.localhost")
        client = Client(runtime.config.public_url(instance.domain), instance)
        asker = Asker(runtime, instance, client, Sandbox(stack.url("openrag")), loopback.session())
        with client.socket({"type": CHAT_EVENTS}) as socket:
            socket.sync()
            asker.ask(socket)  # the first one makes the database and the connections
            times = [asker.ask(socket) for _ in range(10 if quick else QUESTIONS)]
    whole, bare = median([t.whole for t in times]), median([t.openrag + t.trips for t in times])
    beside = "openRAG's first chunk and the same round trips"
    return [Row("first delta after the POST", whole * 1000, "ms", beside, bare * 1000, more_by(12, "12 ms"))]
