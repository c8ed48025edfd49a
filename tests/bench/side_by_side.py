"""Many questions at once: whether their answers stream side by side, and what that costs beside one alone.

`python -m tests.bench.side_by_side [N]` starts a stack of its own, with one query worker, and prints a table.
"""

import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.local.stack import Stack
from ragcore.events import CHAT_EVENTS
from tests.bench.people import Person, new_person, runtime_of
from tests.support.sandbox import Sandbox

CHUNKS = 40
APART = 0.1  # seconds
WORDS = [f"word{place} " for place in range(CHUNKS)]
SCRIPT = [item for word in WORDS for item in ({"content": word}, {"sleep": APART})]


@dataclass
class Answer:
    """What came for one question; times are in seconds since the first POST."""

    words: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    terminals: list[str] = field(default_factory=list)
    first: float = 0.0
    done: float = 0.0

    def take(self, doc: dict[str, Any], at: float) -> None:
        if doc["object"] == "delta":
            self.first = self.first or at
            self.words.append(doc["content"])
            self.positions.append(doc["position"])
        elif doc["object"] in ("done", "error"):
            self.terminals.append(doc["object"])
            self.done = at


@dataclass(frozen=True)
class Run:
    answers: list[Answer]

    @property
    def total(self) -> float:
        return max(answer.done for answer in self.answers)

    @property
    def last_first_word(self) -> float:
        return max(answer.first for answer in self.answers)

    @property
    def first_done(self) -> float:
        return min(answer.done for answer in self.answers)


def ask_at_once(person: Person, sandbox: Sandbox, count: int) -> Run:
    """Posts the questions in as many threads, each in a conversation of its own; one websocket hears all."""
    client, fields = person.client, {"assistantID": person.assistant}
    sandbox.script(*SCRIPT, times=count)
    answers: defaultdict[str, Answer] = defaultdict(Answer)
    with client.socket({"type": CHAT_EVENTS}) as socket, ThreadPoolExecutor(count) as pool:
        socket.sync()
        start = time.monotonic()
        posts = [pool.submit(client.ask, f"Question {number}", **fields) for number in range(count)]
        while sum(len(answer.terminals) for answer in answers.values()) < count:
            doc = socket.receive()["payload"]["doc"]
            answers[doc["_id"]].take(doc, time.monotonic() - start)
        asked = {question for _, question in (post.result() for post in posts)}
        assert set(answers) == asked
        return Run(list(answers.values()))


def table(runs: list[Run]) -> str:
    lines = [" at once   last first word   first done   all done"]
    for run in runs:
        lines.append(f"{len(run.answers):8}{run.last_first_word:16.2f} s{run.first_done:11.2f} s{run.total:9.2f} s")
    return "\n".join(lines)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as data, Stack(Path(data)) as stack:
        person = new_person(runtime_of(stack), "many.localhost")
        sandbox = Sandbox(stack.url("openrag"))
        print(table([ask_at_once(person, sandbox, 1), ask_at_once(person, sandbox, count)]))


if __name__ == "__main__":
    main()
