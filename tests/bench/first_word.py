"""From the POST of a question to its first word at the websocket, beyond what openRAG and the database take themselves.

`python -m tests.bench.first_word [QUESTIONS]` starts a stack of its own and asks 50 questions one after the other. Each
is measured beside a bare completion of openRAG, and beside the database requests that lie before the first word
(`round_trips` lists them), made bare.
"""

import sys
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
from tests.support.api import Client, Websocket
from tests.support.sandbox import Sandbox


@dataclass(frozen=True)
class Times:
    """In seconds."""

    whole: float
    openrag: float
    database: float

    @property
    def overhead(self) -> float:
        return self.whole - self.openrag - self.database


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
        return Times(whole, self._bare_completion(), self._bare_requests())

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

    def _bare_requests(self) -> float:
        """A conversation is looked for, written, and read again by the worker."""
        store, doc_id = self.runtime.store, uuid.uuid4().hex
        messages = [{"id": uuid.uuid4().hex, "role": "user", "content": "Why?"}]
        began = time.monotonic()
        doc = store.get_or_new(self.instance, CONVERSATIONS, doc_id)
        store.save(self.instance, CONVERSATIONS, {**doc, "messages": messages})
        store.get(self.instance, CONVERSATIONS, doc_id)
        return time.monotonic() - began


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as data, Stack(Path(data)) as stack:
        runtime = runtime_of(stack)
        instance = runtime.instances.add("first.localhost")
        client = Client(runtime.config.public_url(instance.domain), instance)
        asker = Asker(runtime, instance, client, Sandbox(stack.url("openrag")), loopback.session())
        with client.socket({"type": CHAT_EVENTS}) as socket:
            socket.sync()
            asker.ask(socket)  # the first one makes the database and the connections
            times = [asker.ask(socket) for _ in range(count)]
    rows = {
        "POST to first word": [t.whole for t in times],
        "openRAG, to its first chunk": [t.openrag for t in times],
        "the same database requests": [t.database for t in times],
        "beyond the two": [t.overhead for t in times],
    }
    print(f"{count} questions one after the other, medians")
    for name, values in rows.items():
        print(f"{name:<28}{median(values) * 1000:7.1f} ms")


if __name__ == "__main__":
    main()
