"""How many round trips lie between the POST of a question and its first word at the websocket.

`python -m tests.bench.round_trips` starts a stack of its own and prints them in order, each with the process
that it comes from.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local.services import BY_ITSELF, NAMES
from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS
from ragcore.runtime import Runtime
from tests.bench.couch_proxy import Proxy, proxy
from tests.bench.owners import OTHER, owners
from tests.bench.people import Person, new_person, runtime_of
from tests.bench.redis_monitor import Command, monitored, split
from tests.support.sandbox import Sandbox

Events = Iterator[dict[str, Any]]

# after the first word nothing happens until the counting is over
SCRIPT: list[dict[str, Any]] = [{"content": "First"}, {"sleep": 1.0}, {"content": " and last"}]


@dataclass(frozen=True)
class Trip:
    process: str
    what: str


@dataclass(frozen=True)
class Count:
    """The round trips of one question, in order. `celery` is what Celery's own transport sends to Redis."""

    case: str
    database: list[Trip]
    redis: list[Trip]
    celery: list[Trip]


@dataclass(frozen=True)
class Counter:
    stack: Stack
    proxy: Proxy
    runtime: Runtime
    sandbox: Sandbox

    def first_question(self) -> Count:
        """Of an instance that no process has seen, and that has no database of conversations yet."""
        person = new_person(self.runtime, "first.localhost")
        return self._count("first question of a new instance", person, "first")

    def unseen_instance(self) -> Count:
        """Of an instance that has conversations, but that no process has seen."""
        person = new_person(self.runtime, "unseen.localhost")
        self._save_conversation(person, "unseen")
        return self._count("instance that no process has seen", person, "unseen")

    def next_question(self) -> Count:
        """Of somebody who has just asked another one, the websocket being open."""
        person = new_person(self.runtime, "next.localhost")
        self._save_conversation(person, "next")
        with person.client.socket({"type": CHAT_EVENTS}) as socket:
            socket.sync()
            self.sandbox.script({"content": "Hello"})
            person.client.ask("Hello?", "next", assistantID=person.assistant)
            _until("done", iter(socket))
            return self._count("next question, websocket open", person, "next", iter(socket))

    def _count(self, case: str, person: Person, conversation: str, events: Events | None = None) -> Count:
        self.sandbox.script(*SCRIPT)
        before = len(self.proxy.seen)
        with ExitStack() as opened:
            with monitored(self.stack.url("redis")) as commands:
                _, question = person.client.ask("Why?", conversation, assistantID=person.assistant)
                if events is None:
                    events = iter(opened.enter_context(person.client.socket({"type": CHAT_EVENTS, "id": question})))
                _until("delta", events)
                requests = self.proxy.seen[before:]
            names = owners(self.stack)
            _until("done", events)  # what it does then is not the next one's
        database = [Trip(names.get(request.port, OTHER), str(request)) for request in requests]
        ours, celery = split(commands)
        return Count(case, database, _trips(ours, names), _trips(celery, names))

    def _save_conversation(self, person: Person, conversation: str) -> None:
        related = {"assistant": {"data": {"_id": person.assistant, "_type": "io.cozy.ai.chat.assistants"}}}
        doc = {"_id": conversation, "messages": [], "relationships": related}
        self.runtime.store.save(person.client.instance, CONVERSATIONS, doc)
        self.runtime.publisher.flush()


def _until(kind: str, events: Events) -> None:
    for event in events:
        doc = event["payload"]["doc"]
        assert doc["object"] != "error", doc
        if doc["object"] == kind:
            return


def _trips(commands: list[Command], names: dict[int, str]) -> list[Trip]:
    return [Trip(names.get(command.port, OTHER), str(command)) for command in commands]


@contextmanager
def counter(data: Path) -> Iterator[Counter]:
    """A stack of its own whose processes reach the document database through the proxy."""
    with proxy(lambda: stack.url("couchdb")) as couch:
        services = [name for name in NAMES if name not in (*BY_ITSELF, "beat")]  # beat asks of itself each second
        stack = Stack(data, services=services, config={"couchdb": {"url": couch.url}})
        with stack:
            yield Counter(stack, couch, runtime_of(stack), Sandbox(stack.url("openrag")))


def summary(counts: list[Count]) -> str:
    rows = [("database", "Redis", "Celery's Redis", "")]
    rows += [(str(len(c.database)), str(len(c.redis)), str(len(c.celery)), c.case) for c in counts]
    return "\n".join(f"{row[0]:>8}{row[1]:>8}{row[2]:>16}  {row[3]}".rstrip() for row in rows)


def details(count: Count) -> str:
    lines = [f"\n{count.case}"]
    for title, trips in (("document database", count.database), ("Redis", count.redis), ("Celery", count.celery)):
        lines.append(f"  {title}")
        lines += [f"    {place:2}  {trip.process:13} {trip.what}" for place, trip in enumerate(trips, 1)]
    return "\n".join(lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as data, counter(Path(data)) as counting:
        counts = [counting.first_question(), counting.unseen_instance(), counting.next_question()]
    print(summary(counts), *map(details, counts), sep="\n")


if __name__ == "__main__":
    main()
