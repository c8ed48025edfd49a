"""Workers that are frozen in the middle of answers: on a stack to break."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local.process import Process
from deploy.local.stack import Stack
from ragcore import config
from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.ledger import DOCTYPE
from ragcore.questions import Question
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL
from ragcore.work import KNOWN
from tests.support.api import Client
from tests.support.questions import docs, terminals
from tests.support.sandbox import Sandbox
from tests.support.workers import query_worker

HEARD = 15.0  # seconds after the death of a worker
ENDLESS = [{"content": "begun"}, *[{"sleep": 0.2}, {"content": " more"}] * 300]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Without workers: its API alone sweeps."""
    services = ("redis", "couchdb", "openrag", "api")
    with Stack(tmp_path_factory.mktemp("killed"), services=services) as stack:
        yield stack


@pytest.fixture(scope="module")
def runtime(own: Stack) -> Runtime:
    made = Runtime(config.load({}, Path(own.config_path)))
    made.redis.set(KNOWN, "1")  # it runs since long
    return made


@pytest.fixture
def sandbox(own: Stack) -> Sandbox:
    control = Sandbox(own.url("openrag"))
    control.reset()
    return control


@contextmanager
def running(worker: Process) -> Iterator[Process]:
    worker.start()
    try:
        yield worker
    finally:
        worker.kill()


def ask(client: Client, q: str, conversation_id: str = "") -> Question:
    return Question(client.instance.domain, *client.ask(q, conversation_id, documents=False))


def begun(runtime: Runtime, *questions: Question) -> bool:
    return all(docs(runtime, question) for question in questions)


def contents(runtime: Runtime, instance: Instance, question: Question) -> list[str]:
    doc = runtime.store.get(instance, CONVERSATIONS, question.conversation_id)
    return [message["content"] for message in doc["messages"]]


def codes(runtime: Runtime, question: Question) -> list[str]:
    """The terminal events: `done`, or the codes of errors."""
    return [doc.get("code", "done") for doc in terminals(runtime, question)]


def owed(runtime: Runtime) -> list[str]:
    return [doc["_id"] for doc in runtime.store.all(GLOBAL, DOCTYPE)]


def test_a_frozen_worker_that_wakes_adds_nothing(
    own: Stack, runtime: Runtime, instance: Instance, client: Client, sandbox: Sandbox, until: Callable
) -> None:
    """The sweep is another worker's; the API is frozen too, and one answer is whole when the worker wakes."""
    api = own.processes["api"].handle
    sandbox.script(*ENDLESS, match="Endless")
    sandbox.script({"content": "begun"}, {"sleep": 8}, {"content": " and whole"}, match="Whole")
    with running(query_worker(own, "frozen", 8)) as frozen:
        endless, whole = ask(client, "Endless"), ask(client, "Whole")
        until(lambda: begun(runtime, endless, whole))
        with running(query_worker(own, "other", 8)):
            frozen.handle.suspend()
            stopped = time.monotonic()
            api.suspend()
            try:
                until(lambda: codes(runtime, endless) and codes(runtime, whole), within=HEARD)
                assert time.monotonic() - stopped < HEARD
            finally:
                api.resume()
            told = docs(runtime, endless), docs(runtime, whole)
            frozen.handle.resume()
            until(lambda: [call["closed_early"] for call in sandbox.calls("/v1/chat/completions")] == [True, False])
            until(
                lambda: all(f"question {q.id} was ended by somebody else" in frozen.output() for q in (endless, whole))
            )
            assert (docs(runtime, endless), docs(runtime, whole)) == told
    assert (codes(runtime, endless), codes(runtime, whole)) == (["interrupted"], ["interrupted"])
    assert contents(runtime, instance, endless) == ["Endless"]
    assert contents(runtime, instance, whole) == ["Whole"]
