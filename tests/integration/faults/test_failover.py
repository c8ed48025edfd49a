"""The primary of a Redis behind Sentinels breaks in the middle of answers: a replica takes over."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from deploy.local.process import Process
from deploy.local.services import NAMES
from deploy.local.stack import Stack
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start, owed
from tests.support.api import Client, question_of
from tests.support.audience import Listener, tally
from tests.support.chaos import WHOLE, Tell, comes_true, whole
from tests.support.cli import run_in
from tests.support.sandbox import Sandbox, said
from tests.support.sentinels import SERVERS, Failover, sentinels
from tests.support.workers import suspended

ANSWERS = 20
TOLD = 30.0  # seconds
SHORT = ("couchdb", "openrag", "api", "worker-query")
SERVICES = [name for name in NAMES if name != "redis"] if WHOLE else SHORT


@pytest.fixture(scope="module")
def failover(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Failover]:
    with sentinels(tmp_path_factory.mktemp("sentinels")) as servers:
        yield servers


@pytest.fixture(scope="module")
def own(start_stack: Start, failover: Failover) -> Iterator[Stack]:
    with start_stack(*SERVICES, redis={"url": failover.url}) as stack:
        yield stack


def is_answered(client: Client, heard: Listener, until: Callable) -> bool:
    """Whether a new question is."""
    response = client.post("afterwards", {"q": "And now?", "documents": False})
    if response.status_code != 202:
        return False
    question = question_of(response)
    until(lambda: heard.told(question).ends, within=TOLD)
    return heard.told(question).ends == ["done"]


@contextmanager
def killed(primary: Process) -> Iterator[None]:
    primary.kill()
    yield
    primary.start()


BROKEN = [
    pytest.param(killed, "SIGKILL to", id="killed"),
    pytest.param(suspended, "frozen, until a replica has taken over:", id="frozen", marks=whole),
]


@pytest.mark.parametrize(("broken", "name"), BROKEN)
def test_a_failover(
    own: Stack,
    failover: Failover,
    runtime: Runtime,
    client: Client,
    sandbox: Sandbox,
    until: Callable,
    tell: Tell,
    broken: Callable,
    name: str,
) -> None:
    """Every process goes on by itself, with the new primary."""
    sandbox.script(*said("one two three four five six seven eight nine ten", 0.7), match="Slow", times=ANSWERS)
    primary = until(failover.primary, within=TOLD)
    replicas = [name for name in SERVERS if name != primary]
    with Listener(client) as heard:
        slow = [client.ask("Slow", documents=False)[1] for _ in range(ANSWERS)]
        until(lambda: all(heard.told(question).docs for question in slow))
        with broken(failover.processes[primary]):
            began = time.monotonic()
            until(lambda: any(map(failover.is_primary, replicas)))
            took = time.monotonic() - began
        until(lambda: is_answered(client, heard, until), within=TOLD)
        again = time.monotonic() - began
        comes_true(until, lambda: heard.has_ends(slow), within=TOLD)
    figures = tally(map(heard.told, slow))
    seconds = {
        "s_until_a_replica_was_primary": round(took, 1),
        "s_until_a_new_question_was_answered": round(again, 1),
    }
    tell(f"{ANSWERS} answers", f"{name} the primary of a Redis behind Sentinels", **figures, **seconds)
    assert figures["answered"] + figures["told error"] == ANSWERS  # claims last 8 seconds: a failover may take longer
    assert {figures[name] for name in ("hung", "lost", "doubled", "out_of_order")} == {0}
    until(lambda: not owed(runtime), within=TOLD)
    own.check()
    if WHOLE:
        until(lambda: run_in(own.environment(), "check").returncode == 0, within=TOLD)
