"""Workers that end in the middle of twenty answers."""

import time
from collections.abc import Callable, Iterator

import pytest

from deploy.local.stack import Stack
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start
from tests.support.api import Client
from tests.support.audience import Listener, tally
from tests.support.chaos import Tell
from tests.support.sandbox import Sandbox
from tests.support.workers import query_worker

ANSWERS = 20
HEARD = 15.0  # seconds after the death of a worker
ENDLESS = [{"content": "begun"}, *[{"sleep": 0.2}, {"content": " more"}] * 300]


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api") as stack:
        yield stack


def test_a_killed_worker(
    own: Stack, runtime: Runtime, instance: Instance, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    sandbox.script(*ENDLESS, match="Slow", times=ANSWERS)
    worker = query_worker(own, "killed", 32)
    worker.start()
    try:
        with Listener(client) as heard:
            questions = [client.ask("Slow", documents=False)[1] for _ in range(ANSWERS)]
            until(lambda: all(heard.told(question).docs for question in questions))
            killed = time.monotonic()
            worker.kill()
            until(lambda: heard.has_ends(questions), within=HEARD)
            figures = tally(map(heard.told, questions))
            tell("20 answers", "SIGKILL to their worker", **figures, s=round(time.monotonic() - killed, 1))
    finally:
        worker.kill()
    assert figures == {"answered": 0, "told error": 20, "hung": 0, "lost": 0, "doubled": 0, "out_of_order": 0}
