"""The document database away, or odd, while questions are answered and folders indexed."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
import requests

from deploy.local.stack import Stack
from ragcore import config
from ragcore.documents import ASSISTANTS, CONVERSATIONS, FILES
from ragcore.errors import RagcoreError
from ragcore.questions import Question
from ragcore.runtime import Runtime
from ragcore.triggers.documents import DOCTYPE as TRIGGERS
from tests.integration.faults.conftest import Start
from tests.support.api import Client, question_of
from tests.support.audience import Listener, tally
from tests.support.between import CUT, Between, between
from tests.support.chaos import Tell, comes_true, times, whole
from tests.support.questions import terminals
from tests.support.rule import World, figures
from tests.support.sandbox import Sandbox, said
from tests.support.turmoil import Turmoil, turmoil_of
from tests.support.workers import suspended

ASKED = times(4, 10)  # before it breaks
BROKEN = times(3.0, 15.0)  # seconds
TOLD = 30.0  # seconds after the return
SETTLED = 100.0
SCOPE = f"{TRIGGERS} io.cozy.jobs {FILES} {CONVERSATIONS} io.cozy.ai.chat.events"
ERROR = {"error": "internal_server_error", "reason": "a test has asked for it"}
CONFLICT = {"error": "conflict", "reason": "Document update conflict."}


@pytest.fixture(scope="module")
def in_between() -> Iterator[Between]:
    with between() as server:
        yield server


@pytest.fixture(scope="module")
def own(start_stack: Start, in_between: Between) -> Iterator[Stack]:
    """All processes, which reach the database through what is in between."""

    def stand_before(stack: Stack) -> None:
        in_between.target = lambda: stack.url("couchdb")

    jobs = {"rag-index": {"retry_delay": "3s"}}
    with start_stack(couchdb={"url": in_between.url}, jobs=jobs, made=stand_before) as stack:
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
            self.questions.append(question_of(response))

    @contextmanager
    def all_the_time(self) -> Iterator[None]:
        over = threading.Event()

        def run() -> None:
            while not over.wait(0.4):
                self.ask()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def every(number: int, answer: tuple[int, object], methods: tuple[str, ...] = ()) -> Callable:
    """Spoils one request of so many, in turn."""
    asked = itertools.count(1)

    def spoil(method: str, path: str) -> tuple[int, object] | None:
        if methods and method not in methods:
            return None
        return answer if next(asked) % number == 0 else None

    return spoil


def restarted(own: Stack, server: Between) -> None:
    own.processes["couchdb"].kill()
    time.sleep(BROKEN / 2)
    own.processes["couchdb"].start()


def paused(own: Stack, server: Between) -> None:
    with suspended(own.processes["couchdb"]):
        time.sleep(BROKEN)


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
        pytest.param("killed and started again", restarted, marks=whole),
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
    asking, world = begun(turmoil), World(own, turmoil.domain)
    with Listener(asking.client) as heard:
        for _ in range(ASKED):
            asking.ask()
        with asking.all_the_time():
            broken(own, in_between)
        healed = time.monotonic()
        hung = not comes_true(until, lambda: heard.has_ends(asking.questions), TOLD)
        longest = time.monotonic() - healed
        due = asking.client.add_trigger("@in", "1s")
        end_with_a_change(turmoil)
        settled = comes_true(until, lambda: world.is_settled() and not asking.client.has_trigger(due), SETTLED)
        refused = [conversation for conversation, status in asking.answers.items() if status != 202]
        half = [conversation for conversation in refused if is_half_saved(turmoil, heard, conversation)]
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


def begun(turmoil: Turmoil) -> Asking:
    """Its changes are told by the watcher alone."""
    client = Client(turmoil.drive.runtime.config.public_url(turmoil.domain), turmoil.drive.instance, SCOPE)
    for doctype in (FILES, ASSISTANTS):
        client.add_trigger("@event", doctype, debounce="1s")
    turmoil.begin(20)
    return Asking(client)


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


@whole
def test_the_api_is_killed_once_a_question_is_saved(
    own: Stack, in_between: Between, runtime: Runtime, client: Client, until: Callable, tell: Tell
) -> None:
    """Before it handed the question to a worker."""
    api = own.processes["api"]

    def kill(method: str, path: str) -> tuple[int, object] | None:
        if method != "PUT" or not path.endswith("/c1"):
            return None
        api.kill()
        return CUT

    in_between.spoil_after = kill
    with pytest.raises(requests.RequestException):
        client.post("c1", {"q": "Hello"})
    killed = time.monotonic()
    in_between.heal()
    api.start()
    (message,) = runtime.store.get(client.instance, CONVERSATIONS, "c1")["messages"]
    question = Question(client.instance.domain, "c1", message["id"])
    until(lambda: terminals(runtime, question), within=60)
    took = time.monotonic() - killed
    ends = [doc.get("code", "done") for doc in terminals(runtime, question)]
    tell("a question, just saved", "SIGKILL to the API", told=", ".join(ends), s=round(took, 1))
    assert ends == ["interrupted"]
    assert took < TOLD
