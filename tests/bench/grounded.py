"""Grounded answers: from the POST of a question to its first word, beyond what openRAG's search and the LLM take
themselves, and turns of the agent at once on one query worker."""

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from deploy.local.stack import Stack
from ragcore import loopback
from ragcore.grounded.retrieve import TOP_K
from tests.bench.clock import median
from tests.bench.people import runtime_of
from tests.bench.row import Row, Target, at_most, more_by
from tests.support import grounded
from tests.support.api import EventSource
from tests.support.grounded import Library, calls, text_of, tools_of
from tests.support.sandbox import Sandbox

QUESTIONS = 100
TURNS = 100
WITHIN = 60.0  # seconds
QUESTION = "How do I reset the boiler?"
ANSWER = "Hold the red button for five seconds [1]."
CALLS = calls(
    ("search_knowledge_base", {"query": "reset boiler"}), ("list_recent_documents", {}), ("get_workspace_stats", {})
)


def measure(quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as data, Stack(Path(data)) as stack:
        runtime = runtime_of(stack)
        sandbox, library = Sandbox(stack.url("openrag")), grounded.library(runtime, _until)
        openrag = runtime.openrag(library.instance)
        asker = Asker(library, sandbox, lambda: openrag.search(QUESTION, TOP_K, 0.25), loopback.session())
        return [asker.row(10 if quick else QUESTIONS), *_turns(library, sandbox, 10 if quick else TURNS)]


@dataclass(frozen=True)
class Asker:
    library: Library
    sandbox: Sandbox
    search: Callable[[], object]
    session: requests.Session

    def row(self, count: int) -> Row:
        self.ask()  # the first one makes the database and the connections
        pairs = [(self.ask(), self.bare()) for _ in range(count)]
        whole, bare = (median(times) * 1000 for times in zip(*pairs, strict=True))
        return Row("ask to first word", whole, "ms", "the search and the LLM's first chunk, bare", bare,
                   more_by(40, "40 ms"))  # fmt: skip

    def ask(self) -> float:
        """In seconds, to the first delta."""
        self.sandbox.script({"content": ANSWER})
        began = time.monotonic()
        with EventSource(self.library.post(QUESTION)) as source:
            events = iter(source)
            while next(events)[1]["type"] != "delta":
                pass
            took = time.monotonic() - began
            for _ in events:
                pass
        return took

    def bare(self) -> float:
        self.sandbox.script({"content": ANSWER})
        body = {"messages": [{"role": "user", "content": QUESTION}], "stream": True}
        began = time.monotonic()
        self.search()
        with self.session.post(f"{self.sandbox.url}/v1/chat/completions", json=body, stream=True) as response:
            next(iter(response.iter_lines(chunk_size=1)))
            took = time.monotonic() - began
            for _ in response.iter_lines():
                pass
        return took


def _turns(library: Library, sandbox: Sandbox, count: int) -> Iterator[Row]:
    _at_once(library, sandbox, 1)  # the first one has the database make its indexes
    _, alone = _at_once(library, sandbox, 1)
    failed, took = _at_once(library, sandbox, count)
    name = f"{count} turns of the agent at once, of three calls each"
    yield Row(f"{name}: failed", failed, "", target=at_most(0, "0"))
    yield Row(f"{name}: the last answer", took * 1000, "ms", "one alone", alone * 1000,
              Target(f"≤ {count} × (linear)", count))  # fmt: skip


def _at_once(library: Library, sandbox: Sandbox, count: int) -> tuple[int, float]:
    """How many failed, and the seconds until the last one was over."""
    messages = [f"How do I reset the boiler of house {number}?" for number in range(count)]
    for message in messages:
        sandbox.script(CALLS, match=message)
        sandbox.script({"content": ANSWER}, match=message)
    with ThreadPoolExecutor(count) as pool:
        began = time.monotonic()
        answers = list(pool.map(library.tell, messages))
        took = time.monotonic() - began
    return len([events for events in answers if not _is_whole(events)]), took


def _is_whole(events: list[dict[str, Any]]) -> bool:
    done = [tool for tool in tools_of(events) if tool["status"] == "done"]
    return text_of(events) == ANSWER and len(done) == 3 and events[-1]["type"] == "saved"


def _until(condition: Callable[[], Any], within: float = WITHIN) -> Any:
    until = time.monotonic() + within
    while not (value := condition()):
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.05)
    return value
