"""The document database away, or odd, while questions are answered and folders indexed."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from deploy.local.stack import Stack
from ragcore import config
from ragcore.documents import ASSISTANTS, CONVERSATIONS, FILES
from ragcore.errors import RagcoreError
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start
from tests.support.api import Client
from tests.support.audience import Listener, tally
from tests.support.between import CUT, Between, between
from tests.support.chaos import Tell, times, whole
from tests.support.rule import World, figures
from tests.support.sandbox import Sandbox, said
from tests.support.turmoil import Turmoil, turmoil_of

ASKED = times(4, 10)  # before it breaks
BROKEN = times(4.0, 15.0)  # seconds
TOLD = 30.0  # seconds after the return
SETTLED = 100.0
TRIGGERS = "io.cozy.triggers"
SCOPE = f"{TRIGGERS} io.cozy.jobs {FILES} {CONVERSATIONS} io.cozy.ai.chat.events"
ERROR = {"error": "internal_server_error", "reason": "a test has asked for it"}
CONFLICT = {"error": "conflict", "reason": "Document update conflict."}


@pytest.fixture(scope="module")
def _stacks() -> list[Stack]:
    return []


@pytest.fixture(scope="module")
def in_between(_stacks: list[Stack]) -> Iterator[Between]:
    with between(lambda: _stacks[0].url("couchdb")) as server:
        yield server


@pytest.fixture(scope="module")
def own(start_stack: Start, in_between: Between, _stacks: list[Stack]) -> Iterator[Stack]:
    """All processes, which reach the database through what is in between."""
    jobs = {"rag-index": {"retry_delay": "3s"}}
    with start_stack(couchdb={"url": in_between.url}, jobs=jobs, made=_stacks.append) as stack:
        yield stack


@pytest.fixture
def runtime(own: Stack) -> Runtime:
    """Of the test itself: nothing is in between."""
    return Runtime(config.load({"RAGCORE_COUCHDB_URL": own.url("couchdb")}, own.config_path))


@pytest.fixture(autouse=True)
def _healed(in_between: Between) -> Iterator[None]:
    yield
    in_between.heal()


@dataclass
class Asking:
    """Asks a question in a conversation of its own now and then: the status of each, by the conversation."""

    client: Client
    answers: dict[str, int] = field(default_factory=dict)
    questions: list[str] = field(default_factory=list)

    def ask(self) -> None:
        conversation = f"c{len(self.answers)}"
        response = self.client.post(conversation, {"q": "Slow", "documents": False})
        self.answers[conversation] = response.status_code
        if response.status_code == 202:
            self.questions.append(response.json()["data"]["attributes"]["messages"][-1]["id"])

    @contextmanager
    def all_the_time(self) -> Iterator[None]:
        over = threading.Event()

        def run() -> None:
            while not over.wait(0.4):
                self.ask()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield
        over.set()
        thread.join()


def every(number: int, answer: tuple[int, object], methods: tuple[str, ...] = ()) -> Callable:
    """Spoils one request of so many, in turn."""
    count = 0

    def spoil(method: str, path: str) -> tuple[int, object] | None:
        nonlocal count
        count += not methods or method in methods
        return answer if (not methods or method in methods) and count % number == 0 else None

    return spoil


def restarted(own: Stack, server: Between) -> None:
    own.processes["couchdb"].kill()
    time.sleep(BROKEN / 2)
    own.processes["couchdb"].start()


def paused(own: Stack, server: Between) -> None:
    own.processes["couchdb"].handle.suspend()
    time.sleep(BROKEN)
    own.processes["couchdb"].handle.resume()


def answering(
    answer: tuple[int, object], number: int = 2, methods: tuple[str, ...] = (), after: bool = False
) -> Callable:
    def broken(own: Stack, server: Between) -> None:
        setattr(server, "spoil_after" if after else "spoil", every(number, answer, methods))
        time.sleep(BROKEN)
        server.heal()

    return broken


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("what", "broken"),
    [
        ("killed and started again", restarted),
        pytest.param("paused", paused, marks=whole),
        pytest.param("answering 500 all the time", answering((500, ERROR), 1), marks=whole),
        pytest.param("answering 500 every other time", answering((500, ERROR)), marks=whole),
        pytest.param("answering 429 every other time", answering((429, ERROR)), marks=whole),
        pytest.param("answering 409 to every other write", answering((409, CONFLICT), 2, ("PUT",)), marks=whole),
        pytest.param("cutting every other connection", answering(CUT), marks=whole),
        ("cutting every third connection once it has done what was asked", answering(CUT, 3, after=True)),
    ],
    ids=["restarted", "paused", "500", "some 500", "429", "409", "cut", "cut after"],
)
def test_the_database_breaks(
    own: Stack, in_between: Between, runtime: Runtime, sandbox: Sandbox, until: Callable, tell: Tell,
    what: str, broken: Callable[[Stack, Between], None],
) -> None:  # fmt: skip
    sandbox.script(*said("word by word " * 5, 0.2), match="Slow", times=200)
    turmoil = turmoil_of(runtime, random.Random(7), told=lambda: None)
    client = Client(runtime.config.public_url(turmoil.domain), turmoil.drive.instance, SCOPE)
    for doctype in (FILES, ASSISTANTS):
        add_trigger(client, "@event", doctype, debounce="1s")
    turmoil.begin(20)
    asking, world = Asking(client), World(own, turmoil.domain)
    with Listener(client) as heard:
        for _ in range(ASKED):
            asking.ask()
        with asking.all_the_time():
            broken(own, in_between)
        healed = time.monotonic()
        hung = not holds(until, lambda: heard.has_ends(asking.questions), TOLD)
        longest = time.monotonic() - healed
        add_trigger(client, "@in", "1s")
        end_with_a_change(turmoil)
        settled = holds(until, lambda: world.is_settled() and not fires(runtime, turmoil), SETTLED)
        half = [
            chat for chat, status in asking.answers.items() if status != 202 and is_half_saved(turmoil, heard, chat)
        ]
        statuses = Counter(asking.answers.values())
        tell(
            f"questions, and indexing with {turmoil.changes} changes",
            f"the document database {what}",
            **{f"answered {status} by the API": count for status, count in sorted(statuses.items())},
            **tally(map(heard.told, asking.questions)), half_saved=len(half), **figures([world]),
            s_until_the_last_question_was_told=round(longest, 1),
        )  # fmt: skip
    assert statuses.keys() <= {202, 503, 409}  # 409: each attempt at the save met a conflict, and nothing is saved
    assert not hung
    assert half == []
    assert settled
    assert all(process.alive for process in own.processes.values())


def add_trigger(client: Client, kind: str, arguments: str, **more: str) -> None:
    attributes = {"type": kind, "arguments": arguments, "worker": "rag-index", "message": {"doctype": FILES}, **more}
    response = client.request("POST", "/jobs/triggers", json={"data": {"attributes": attributes}})
    assert response.status_code == 201, response.text


def fires(runtime: Runtime, turmoil: Turmoil) -> bool:
    """Whether a trigger that fires once is still there: the scheduler has not come back then."""
    return any(doc["type"] == "@in" for doc in runtime.store.all(turmoil.drive.instance, TRIGGERS))


def end_with_a_change(turmoil: Turmoil) -> None:
    """What the watcher missed while the database was away, it reads with the next change at the latest."""
    turmoil.end()
    turmoil.drive.file("/last.txt", "last")


def is_half_saved(turmoil: Turmoil, heard: Listener, conversation: str) -> bool:
    """Whether a question that was answered with an error stays, and nobody is told how it ended."""
    try:
        doc = turmoil.drive.runtime.store.get(turmoil.drive.instance, CONVERSATIONS, conversation)
    except RagcoreError:
        return False
    asked = [message["id"] for message in doc["messages"] if message["role"] == "user"]
    return not heard.has_ends(asked)


def holds(until: Callable, condition: Callable[[], bool], within: float) -> bool:
    try:
        until(condition, within=within)
    except AssertionError:
        return False
    return True
