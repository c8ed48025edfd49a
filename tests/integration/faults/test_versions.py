"""What another version wrote, or another time: messages, entries of the ledger and of the schedule; and no messages."""

import os
import pickle
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from redbeat import RedBeatSchedulerEntry
from redbeat.schedulers import ensure_conf

from deploy.local.stack import Stack
from ragcore import turns
from ragcore.chat.errors import LATE
from ragcore.errors import Retryable
from ragcore.indexing.run import job_failed
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, FeedJob, to_message
from ragcore.ledger import Ledger, owed_id
from ragcore.questions import OLDEST
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL
from ragcore.triggers.documents import DOCTYPE as TRIGGERS
from ragcore.work import Work
from tasks.app import BEAT
from tests.integration.faults.conftest import Start
from tests.support.api import Client
from tests.support.audience import Listener, tally
from tests.support.chaos import Tell, whole
from tests.support.chat import Answerer
from tests.support.queue import Recorded

HOUR = 3600.0
ENTRIES = ("due", "fill", "reindex")
TOLD = 30.0  # seconds, of a question whose message no worker knows
QUEUES = ("rag-query", "rag-index")
NO_MESSAGES = (b"\x80\xff", b"not JSON", b"7", b"null", b"[]", b'"text"', b"{}", b'{"body": "x", "properties": {}}')


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api", "worker-index", "worker-query", "beat") as stack:
        yield stack


@pytest.fixture
def broker(runtime: Runtime) -> Celery:
    """Another version of what enqueues."""
    app = Celery(broker=runtime.config.redis.url, set_as_current=False)
    app.conf.update(redbeat_redis_url=runtime.config.redis.url, redbeat_key_prefix=BEAT)
    ensure_conf(app)
    return app


class Execute:
    """A pickle that leaves a file where it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._path),)


def asked(runtime: Runtime, instance: Instance, q: str) -> AnswerJob:
    """A question that is saved and owed, and whose message is for the test to send."""
    answerer = Answerer(runtime, instance)
    answerer.ask(f"about-{q}", q=q, documents=False)
    return answerer.jobs[0]


def test_messages_of_other_versions(
    own: Stack, runtime: Runtime, instance: Instance, client: Client, broker: Celery, until: Callable, tell: Tell
) -> None:
    newer, older, unknown = (asked(runtime, instance, q) for q in ("newer", "older", "unknown"))
    needed = ("domain", "prefix", "conversation_id", "question_id", "asked_at", "documents")
    with Listener(client) as heard:
        broker.send_task("rag-query.answer", kwargs=to_message(newer) | {"voice": "soft"}, queue="rag-query")
        shorter = {name: value for name, value in to_message(older).items() if name in needed}
        broker.send_task("rag-query.answer", kwargs=shorter, queue="rag-query")
        broker.send_task("rag-query.answer_aloud", kwargs=to_message(unknown), queue="rag-query")
        sent = time.monotonic()
        questions = [job.question_id for job in (newer, older, unknown)]
        until(lambda: heard.has_ends(questions), within=TOLD)
        figures = tally(map(heard.told, questions))
        took = round(time.monotonic() - sent, 1)
        tell(
            "a question with a field more, one with fields less, one of a task that is unknown", "-", **figures, s=took
        )
        assert heard.told(unknown.question_id).ends == ["interrupted"]
    assert figures == {"answered": 2, "told error": 1, "hung": 0, "lost": 0, "doubled": 0, "out_of_order": 0}
    own.check()


def test_an_index_job_of_another_version_is_done(
    own: Stack, runtime: Runtime, instance: Instance, broker: Celery, until: Callable, tell: Tell
) -> None:
    """Its entry in the ledger has a field more, and its message; another one is of a task that is unknown."""
    work, job = Work(runtime, Recorded()), FeedJob(instance.domain)
    owed = work.owe(job)
    work.push(owed)
    entry = runtime.store.get(GLOBAL, "rag-owed", owed.id)
    runtime.store.save(GLOBAL, "rag-owed", entry | {"mood": "calm"})
    broker.send_task("rag-index.feed_aloud", kwargs=to_message(owed.job), queue="rag-index")
    broker.send_task("rag-index.feed", kwargs=to_message(owed.job) | {"loudness": 3}, queue="rag-index")
    until(lambda: Ledger(runtime.store).get(job) is None)
    until(lambda: not turns.state(runtime.redis, instance.domain, owed_id(job)).is_done_by_somebody)
    tell("a feed with a field more, in its message and in the ledger", "-", owed=0)
    own.check()


def test_what_is_no_message_is_left_out(
    own: Stack, runtime: Runtime, client: Client, broker: Celery, tmp_path: Path, until: Callable, tell: Tell
) -> None:
    executed = tmp_path / "executed"
    for queue in QUEUES:
        for text in NO_MESSAGES:
            runtime.redis.lpush(queue, text)
        with broker.connection_for_write() as connection, connection.Producer() as producer:
            body = pickle.dumps(((), {"domain": Execute(executed)}, {}))
            headers = {"id": "1", "task": f"{queue}.{'answer' if queue == 'rag-query' else 'feed'}", "lang": "py"}
            common = {"routing_key": queue, "exchange": queue}
            producer.publish(
                body,
                headers=headers,
                content_type="application/x-python-serialize",
                content_encoding="binary",
                **common,
            )
            producer.publish(b"<html>", content_type="text/html", content_encoding="utf-8", **common)
            producer.publish({"no": "task"}, **common)
    until(lambda: not any(runtime.redis.llen(queue) for queue in QUEUES), within=30)
    _, question = client.ask("And now?", documents=False)
    *_, last = client.events(question)
    work = Work(runtime, Recorded())
    owed = work.owe(FeedJob(client.instance.domain))
    until(lambda: Ledger(runtime.store).by_id(owed.id) is None, within=20)  # the sweep sends it, a worker takes it
    tell(f"{len(NO_MESSAGES) + 3} things in each queue that are no messages", "-", executed=int(executed.exists()))
    assert last["object"] == "done"
    assert not executed.exists()
    own.check()


@whole
def test_the_schedule_goes_on_after_a_clock_was_set_back(
    own: Stack, runtime: Runtime, instance: Instance, broker: Celery, until: Callable, tell: Tell
) -> None:
    """The active beat was killed, another one runs on a clock that is an hour behind."""
    client = Client(runtime.config.public_url(instance.domain), instance, TRIGGERS)
    own.processes["beat"].kill()
    ahead = datetime.now(UTC) + timedelta(seconds=HOUR)
    for name in ENTRIES:
        key = RedBeatSchedulerEntry.generate_key(broker, name)
        RedBeatSchedulerEntry.from_key(key, app=broker).reschedule(last_run_at=ahead)
    own.processes["beat"].start()
    began = time.monotonic()
    trigger = client.add_trigger("@in", "1s")
    until(lambda: not client.has_trigger(trigger), within=30)
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
