"""RabbitMQ as the broker: what goes through it, and what becomes of that when it, or a worker, is killed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest

from deploy.cli import client as cli_client
from deploy.local.process import Process
from deploy.local.services import NAMES
from deploy.local.stack import Stack
from ragcore.documents import ASSISTANTS, FILES
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start, owed
from tests.support.api import Client, question_of
from tests.support.audience import Listener, tally
from tests.support.chaos import Tell, comes_true, whole
from tests.support.cli import run_in
from tests.support.files import Drive
from tests.support.rabbitmq import needs_rabbitmq, rabbitmq
from tests.support.sandbox import Sandbox, said
from tests.support.workers import query_worker, running

pytestmark = [whole, needs_rabbitmq, pytest.mark.timeout(180)]

ANSWERS = 20
TOLD = 30.0  # seconds
PATIENCE = 12  # seconds that RabbitMQ waits for a message to be acknowledged: its own are half an hour
IMPATIENT = f"{{rabbit, [{{consumer_timeout, {PATIENCE * 1000}}}, {{channel_tick_interval, 1000}}]}}"
SLOW = said("one two three four five six seven eight nine ten", 1.0)
SCOPE = f"{cli_client.SCOPE} io.cozy.triggers"
NOTHING_LOST = {"told error": 0, "hung": 0, "lost": 0, "doubled": 0, "out_of_order": 0}
SERVICES = [name for name in NAMES if name != "worker-query"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, str]]:
    with rabbitmq(tmp_path_factory.mktemp("rabbitmq"), IMPATIENT) as started:
        yield started


@pytest.fixture(scope="module")
def own(start_stack: Start, broker: tuple[Process, str]) -> Iterator[Stack]:
    with start_stack(*SERVICES, broker={"url": broker[1]}) as stack:
        yield stack


def begun(heard: Listener, questions: list[str]) -> bool:
    return all(heard.told(question).docs for question in questions)


def ask(client: Client) -> list[str]:
    return [client.ask("Slow", documents=False)[1] for _ in range(ANSWERS)]


def is_answered(client: Client, heard: Listener, until: Callable) -> bool:
    """Whether a new question is."""
    response = client.post("afterwards", {"q": "And now?", "documents": False})
    if response.status_code != 202:
        return False
    question = question_of(response)
    until(lambda: heard.told(question).ends, within=TOLD)
    return heard.told(question).ends == ["done"]


def test_jobs_go_through_it(
    own: Stack, runtime: Runtime, instance: Instance, sandbox: Sandbox, until: Callable
) -> None:
    client = Client(runtime.config.public_url(instance.domain), instance, SCOPE)
    for doctype in (FILES, ASSISTANTS):
        client.add_trigger("@event", doctype)
    drive = Drive(runtime, instance)
    with running(query_worker(own, "through", 4)), Listener(client) as heard:
        assert is_answered(client, heard, until)
        folder = drive.folder("/Papers")
        file = drive.file("/Papers/one.txt", "The text of one")["_id"]
        drive.assistant(folder)
        until(lambda: file in runtime.openrag(instance).files(), within=TOLD)
        checked = run_in(own.environment(), "check")
    assert checked.returncode == 0, checked.stdout
    assert "broker amqp://" in checked.stdout
    assert not runtime.redis.keys("*rag-query*") + runtime.redis.keys("unacked*")


def test_a_killed_worker(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """Its messages come again at once, while its claims last."""
    sandbox.script(*SLOW, match="Slow", times=2 * ANSWERS)
    killed, following = query_worker(own, "killed", 32), query_worker(own, "following", 32)
    with Listener(client) as heard, running(killed):
        slow = ask(client)
        until(lambda: begun(heard, slow))
        with running(following):
            killed.kill()
            began = time.monotonic()
            comes_true(until, lambda: heard.has_ends(slow), within=TOLD)
            seconds = round(time.monotonic() - began, 1)
            until(lambda: is_answered(client, heard, until), within=TOLD)
            until(lambda: not owed(runtime), within=TOLD)
    figures = tally(map(heard.told, slow))
    tell(f"{ANSWERS} answers, RabbitMQ as broker", "SIGKILL to their worker", **figures, s=seconds)
    assert figures == {"answered": 0} | NOTHING_LOST | {"told error": ANSWERS}


def test_a_worker_that_is_told_to_end(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """What it has answered while it ends does not come again."""
    sandbox.script(*said("one two", 1.0), match="Slow", times=ANSWERS)
    ending, following = query_worker(own, "ending", 32), query_worker(own, "next", 32)
    with Listener(client) as heard, running(ending):
        slow = ask(client)
        until(lambda: begun(heard, slow))
        ending.handle.terminate()
        with running(following):
            status = ending.handle.wait(TOLD)
            until(lambda: is_answered(client, heard, until), within=TOLD)
            until(lambda: not owed(runtime), within=TOLD)
            again = following.output().count("is not to be answered")
    figures = tally(map(heard.told, slow))
    tell(f"{ANSWERS} answers, RabbitMQ as broker", "SIGTERM to their worker", **figures, again=again)
    assert status == 0
    assert figures == {"answered": ANSWERS} | NOTHING_LOST
    assert again == 0


def test_an_answer_that_takes_longer_than_rabbitmq_waits(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """It closes the channel, and gives the messages out again: their answers go on, once each."""
    sandbox.script(*said("one two three four five six seven eight nine ten", PATIENCE / 8), match="Slow", times=ANSWERS)
    worker = query_worker(own, "long", 32)
    with Listener(client) as heard, running(worker):
        slow = ask(client)
        until(lambda: heard.has_ends(slow), within=2 * PATIENCE + TOLD)
        until(lambda: is_answered(client, heard, until), within=TOLD)
        until(lambda: not owed(runtime), within=TOLD)
        again = worker.output().count("is not to be answered")
    figures = tally(map(heard.told, slow))
    tell(f"{ANSWERS} answers, RabbitMQ as broker", "its consumer_timeout runs out", **figures, again=again)
    assert "PRECONDITION_FAILED" in worker.output()
    assert figures == {"answered": ANSWERS} | NOTHING_LOST


def test_a_frozen_broker(
    own: Stack, broker: tuple[Process, str], runtime: Runtime, client: Client, until: Callable, tell: Tell
) -> None:
    with Listener(client) as heard, running(query_worker(own, "frozen", 4)):
        assert is_answered(client, heard, until)
        process = broker[0].handle
        with frozen([process, *process.children(recursive=True)]):
            asked = time.monotonic()
            response = client.post("meanwhile", {"q": "Now?", "documents": False})
            told = time.monotonic() - asked
        back = time.monotonic()
        until(lambda: is_answered(client, heard, until), within=TOLD)
        again = time.monotonic() - back
        until(lambda: not owed(runtime), within=TOLD)
    seconds = {"s_until_a_503": round(told, 1), "s_until_a_new_question_was_answered": round(again, 1)}
    tell("a question, RabbitMQ as broker", "RabbitMQ frozen", **seconds)
    assert response.status_code == 503
    assert told < 10


@contextmanager
def frozen(processes: list[psutil.Process]) -> Iterator[None]:
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


@pytest.mark.parametrize(("end", "name"), [("restart", "RabbitMQ restarted"), ("kill", "SIGKILL to RabbitMQ")])
def test_a_broken_broker(
    own: Stack,
    broker: tuple[Process, str],
    runtime: Runtime,
    client: Client,
    sandbox: Sandbox,
    until: Callable,
    tell: Tell,
    end: str,
    name: str,
) -> None:
    """The answers under way need no broker; who asks meanwhile is told so at once."""
    sandbox.script(*SLOW, match="Slow", times=ANSWERS)
    process = broker[0]
    with running(query_worker(own, end, 32)), Listener(client) as heard:
        slow = ask(client)
        until(lambda: begun(heard, slow))
        process.stop() if end == "restart" else process.kill()
        asked = time.monotonic()
        response = client.post("meanwhile", {"q": "Now?", "documents": False})
        told = time.monotonic() - asked
        process.start()
        back = time.monotonic()
        until(lambda: is_answered(client, heard, until), within=TOLD)
        again = time.monotonic() - back
        comes_true(until, lambda: heard.has_ends(slow), within=TOLD)
        until(lambda: not owed(runtime), within=TOLD)
    figures = tally(map(heard.told, slow))
    seconds = {"s_until_a_503": round(told, 1), "s_until_a_new_question_was_answered": round(again, 1)}
    tell(f"{ANSWERS} answers, RabbitMQ as broker", name, **figures, **seconds)
    assert response.status_code == 503
    assert told < 5
    assert figures == {"answered": ANSWERS} | NOTHING_LOST
    own.check()
