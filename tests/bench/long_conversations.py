"""What a question costs in conversations of 2, 200 and 2000 messages: the bytes that are read, sent and written for it,
and the wait for its first delta.

The bytes are those of all bodies to and from the document database, of the completion that openRAG is asked for, and of
the events at the websocket, until the answer is saved.
"""

import json
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local.services import BY_ITSELF, NAMES
from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document
from tests.bench.clock import median
from tests.bench.couch_proxy import Proxy, proxy
from tests.bench.people import runtime_of
from tests.bench.row import Row, more_by, times
from tests.support.api import Client, Websocket
from tests.support.sandbox import Sandbox

MESSAGES = (2, 200, 2000)
QUESTIONS = 15
SENTENCE = "What somebody writes in the middle of a long conversation. "
CONTEXT = 10_000_000  # tokens of the stand-in's LLM: room for all of it
LENGTHS = {"user": 1, "assistant": 12}  # sentences


@dataclass(frozen=True)
class Cost:
    """`wait` and `bare` are in seconds, the others in bytes; `conversation` is what it was before the question."""

    wait: float
    bare: float  # what the database takes to be read twice and written once
    moved: int
    conversation: int


@dataclass(frozen=True)
class Asker:
    runtime: Runtime
    instance: Instance
    client: Client
    sandbox: Sandbox
    proxy: Proxy | None

    def ask(self, messages: int, socket: Websocket) -> Cost:
        saved = self._conversation(messages)
        conversation, size, bare = saved["_id"], _size(saved), self._bare(saved)
        for _ in range(2):
            socket.receive()  # what was just written
        self.sandbox.clear_calls()
        self.sandbox.script({"content": "Word"})
        seen = self.proxy.seen if self.proxy else []
        before, events = len(seen), []
        began, wait = time.monotonic(), 0.0
        _, question = self.client.ask("Why?", conversation, documents=False)
        ended = False
        while not ended:
            events.append(socket.receive())
            payload = events[-1]["payload"]
            if payload["id"] == question:
                wait = wait or time.monotonic() - began
                ended = payload["doc"]["object"] == "done"
        moved = sum(map(_size, events))
        # not the ledger's: the sweep reads all that is owed
        moved += sum(request.size for request in seen[before:] if CONVERSATIONS_PATH in request.path)
        moved += sum(call["size"] for call in self.sandbox.calls("/v1/chat/completions", "POST"))
        return Cost(wait, bare, moved, size)

    def _bare(self, doc: Document) -> float:
        store, began = self.runtime.store, time.monotonic()
        for _ in range(2):
            store.get(self.instance, CONVERSATIONS, doc["_id"])
        store.save(self.instance, CONVERSATIONS, doc)
        took = time.monotonic() - began
        self.runtime.publisher.flush()
        return took

    def _conversation(self, messages: int) -> Document:
        doc = {"_id": uuid.uuid4().hex, "messages": [_message(number) for number in range(messages)]}
        saved = self.runtime.store.save(self.instance, CONVERSATIONS, doc)
        self.runtime.publisher.flush()
        return saved


CONVERSATIONS_PATH = CONVERSATIONS.replace(".", "-")


def _message(number: int) -> dict[str, Any]:
    role = "assistant" if number % 2 else "user"
    content = SENTENCE * LENGTHS[role]
    return {"id": uuid.uuid4().hex, "role": role, "content": content, "createdAt": "2026-08-20T08:12:00.000Z"}


def _size(doc: object) -> int:
    return len(json.dumps(doc))


def measure(quick: bool) -> list[Row]:
    """The waits are measured without the proxy, whose own time grows with the bodies."""
    with tempfile.TemporaryDirectory() as data, _stack(Path(data), None) as stack:
        waits = _costs(stack, None, 3 if quick else QUESTIONS)
    with tempfile.TemporaryDirectory() as data, proxy(lambda: stack.url("couchdb")) as couch:
        stack = _stack(Path(data), couch)
        with stack:
            moved = _costs(stack, couch, 1 if quick else 3)
    return _rows(waits, moved)


def _stack(data: Path, couch: Proxy | None) -> Stack:
    services = [name for name in NAMES if name not in (*BY_ITSELF, "beat")]
    return Stack(data, services=services, config={"couchdb": {"url": couch.url}} if couch else None)


def _costs(stack: Stack, couch: Proxy | None, questions: int) -> dict[int, list[Cost]]:
    """In turns. The first questions are not counted: they make the connections."""
    runtime = runtime_of(stack)
    instance = runtime.instances.add("long.localhost")
    client = Client(runtime.config.public_url(instance.domain), instance)
    asker = Asker(runtime, instance, client, Sandbox(stack.url("openrag")), couch)
    asker.sandbox.set(context_size=CONTEXT)
    with client.socket({"type": CHAT_EVENTS}, {"type": CONVERSATIONS}) as socket:
        socket.sync()
        rounds = [{messages: asker.ask(messages, socket) for messages in MESSAGES} for _ in range(questions + 1)]
    return {messages: [costs[messages] for costs in rounds[1:]] for messages in MESSAGES}


def _rows(waits: dict[int, list[Cost]], costs: dict[int, list[Cost]]) -> list[Row]:
    least, most = min(MESSAGES), max(MESSAGES)
    wait = {messages: median([cost.wait for cost in found]) * 1000 for messages, found in waits.items()}
    bare = median([cost.bare for cost in waits[most]]) * 1000
    moved = {messages: median([cost.moved for cost in found]) for messages, found in costs.items()}
    size = {messages: median([cost.conversation for cost in found]) for messages, found in costs.items()}
    return [
        Row(f"first delta after {most} messages", wait[most], "ms", f"after {least}", wait[least],
            more_by(150, "150 ms"), note=f"{size[most] / 2**20:.1f} MiB; the database alone {bare:.0f} ms"),
        Row(f"bytes for a question, {most} messages beside {least}", moved[most] / moved[least], "×",
            "the conversation's size", size[most] / size[least], times(1),
            note=f"{moved[most] / size[most]:.1f} × the conversation", points=sorted(moved.items())),
    ]  # fmt: skip
