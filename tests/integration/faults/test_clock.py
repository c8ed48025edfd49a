"""A clock that was set back an hour: what was written before says times that are an hour ahead."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery
from redbeat import RedBeatSchedulerEntry
from redbeat.schedulers import ensure_conf

from deploy.local.stack import Stack
from ragcore import turns
from ragcore.chat.errors import LATE
from ragcore.documents import FILES
from ragcore.errors import Retryable
from ragcore.indexing.run import job_failed
from ragcore.instances import Instance
from ragcore.jobs import FeedJob, to_message
from ragcore.ledger import Ledger
from ragcore.questions import OLDEST
from ragcore.runtime import Runtime
from ragcore.work import Work
from tests.integration.faults.conftest import Start
from tests.support.api import Client
from tests.support.chaos import Tell
from tests.support.chat import Answerer
from tests.support.queue import Recorded

HOUR = 3600.0
ENTRIES = ("due", "fill", "reindex")


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api", "worker-index", "worker-query", "beat") as stack:
        yield stack


@pytest.fixture
def broker(runtime: Runtime) -> Celery:
    prefix = "ragcore:beat:"
    redbeat = {"redbeat_redis_url": runtime.config.redis.url, "redbeat_key_prefix": prefix}
    app = Celery(broker=runtime.config.redis.url, set_as_current=False)
    app.conf.update(redbeat)
    ensure_conf(app)
    return app


@pytest.fixture
def client(runtime: Runtime, instance: Instance) -> Client:
    return Client(runtime.config.public_url(instance.domain), instance, "io.cozy.triggers io.cozy.jobs io.cozy.files")


def test_the_schedule_goes_on_after_a_clock_was_set_back(
    own: Stack, broker: Celery, client: Client, until: Callable, tell: Tell
) -> None:
    """The active beat was killed, another one runs on a clock that is an hour behind."""
    own.processes["beat"].kill()
    ahead = datetime.now(UTC) + timedelta(seconds=HOUR)
    for name in ENTRIES:
        key = RedBeatSchedulerEntry.generate_key(broker, name)
        RedBeatSchedulerEntry.from_key(key, app=broker).reschedule(last_run_at=ahead)
    own.processes["beat"].start()
    began = time.monotonic()
    attributes = {"type": "@in", "arguments": "1s", "worker": "rag-index", "message": {"doctype": FILES}}
    response = client.request("POST", "/jobs/triggers", json={"data": {"attributes": attributes}})
    trigger = response.json()["data"]["id"]
    until(lambda: client.request("GET", f"/jobs/triggers/{trigger}").status_code == 404, within=30)
    took = round(time.monotonic() - began, 1)
    tell("a trigger that is due", "the clock set back an hour", s=took)


def test_a_failed_job_does_not_wait_an_hour(
    own: Stack, runtime: Runtime, instance: Instance, until: Callable, tell: Tell
) -> None:
    work, job = Work(runtime, Recorded()), FeedJob(instance.domain)
    owed = work.owe(job)
    job_failed(work, job, Retryable("openRAG is away"))
    failed = Ledger(runtime.store).by_id(owed.id)
    assert failed is not None
    Ledger(runtime.store).save(failed, not_before=failed.not_before + HOUR)
    turns.unmark(runtime.redis, owed.id)
    began = time.monotonic()
    until(lambda: Ledger(runtime.store).by_id(owed.id) is None, within=30)
    tell("a job that failed", "the clock set back an hour", owed=0, s=round(time.monotonic() - began, 1))


def test_messages_that_waited_a_day(
    own: Stack, runtime: Runtime, instance: Instance, broker: Celery, until: Callable, tell: Tell
) -> None:
    """A question is told an error; a feed is read once, however many messages of it there are."""
    answerer = Answerer(runtime, instance)
    question = answerer.ask("old", q="Old?", documents=False)
    message = to_message(answerer.jobs[0]) | {"asked_at": time.time() - OLDEST - 1}
    broker.send_task("rag-query.answer", kwargs=message, queue="rag-query")
    until(lambda: answerer.events(question))
    work = Work(runtime, Recorded())
    owed = work.owe(FeedJob(instance.domain))
    for _ in range(2):
        broker.send_task("rag-index.feed", kwargs=to_message(owed.job), queue="rag-index")
    until(lambda: Ledger(runtime.store).by_id(owed.id) is None)
    ends = [doc["code"] for doc in answerer.events(question)]
    tell("a question and a feed", "their messages waited a day", told_error=len(ends), owed=0)
    assert ends == [LATE[0]]
    assert work.documents(instance.domain).get(owed.job_id)["state"] == "done"
