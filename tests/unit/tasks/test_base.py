import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery import Celery

from ragcore.config import Config
from ragcore.errors import Retryable
from ragcore.jobs import AnswerJob, FeedJob, SummaryJob, WalkJob, to_message
from tasks.app import create_app
from tasks.base import CeleryQueue


@pytest.fixture
def away() -> Iterator[str]:
    """The address of a server that is away: a port that is taken, and nobody listens on it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    "push",
    [
        lambda queue: queue.answer(AnswerJob("d", "p", "c", "q")),
        lambda queue: queue.feed(FeedJob("d")),
        lambda queue: queue.walk(WalkJob("d", "x")),
        lambda queue: queue.has_answers(),
    ],
    ids=["answer", "feed", "walk", "has_answers"],
)
@pytest.mark.parametrize(
    "config",
    [
        {"redis": {"url": "redis://{}/0"}},
        {"redis": {"url": "redis+sentinel://{0},{0},{0}/main/0"}},
        {"broker": {"url": "amqp://{0},{0}/"}},
    ],
    ids=["redis", "sentinels", "rabbitmq"],
)
def test_a_job_that_cannot_be_enqueued(
    push: Callable[[CeleryQueue], object], config: dict[str, dict[str, str]], away: str
) -> None:
    """Who enqueues is told at once."""
    settings = {name: {"url": section["url"].format(away)} for name, section in config.items()}
    app = create_app(Config.model_validate(settings))
    began = time.monotonic()
    with pytest.raises(Retryable, match="cannot be enqueued"):
        push(CeleryQueue(app))
    assert time.monotonic() - began < 2


JOB = AnswerJob("d", "p", "c", "q")
PUSHED: list[tuple[Callable[[CeleryQueue], None], str]] = [
    (lambda queue: queue.answer(JOB), "rag-query.answer"),
    (lambda queue: queue.answer(AnswerJob("d", "p", "c", "q", surface="ask")), "rag-query.grounded"),
    (lambda queue: queue.summarize(SummaryJob("d", "p", "c")), "rag-query.summarize"),
    (lambda queue: queue.feed(FeedJob("d")), "rag-index.feed"),
    (lambda queue: queue.walk(WalkJob("d", "x")), "rag-index.walk"),
]


@pytest.fixture
def app() -> Celery:
    """Its broker is the memory of this process."""
    app = create_app(Config())
    app.conf.update(broker_url="memory://", broker_transport_options={})
    return app


def message(app: Celery, name: str) -> Any:
    """The next one of a queue."""
    with app.connection_for_read() as connection:
        found = app.amqp.queues[name](connection.default_channel).get(no_ack=True)
        assert found is not None
        return found


@pytest.mark.parametrize(("push", "task"), PUSHED, ids=[task for _, task in PUSHED])
def test_a_job_is_a_message_of_its_task(app: Celery, push: Callable[[CeleryQueue], None], task: str) -> None:
    push(CeleryQueue(app))
    found = message(app, task.partition(".")[0])
    assert (found.headers["task"], found.headers["argsrepr"], found.headers["kwargsrepr"]) == (task, "", "")


def test_a_message_is_as_celery_itself_sends_it(app: Celery) -> None:
    """But for what is another one each time."""
    CeleryQueue(app).answer(JOB)
    app.send_task("rag-query.answer", kwargs=to_message(JOB), argsrepr="", kwargsrepr="", ignore_result=True)
    ours, theirs = message(app, "rag-query"), message(app, "rag-query")
    assert json.loads(ours.body) == json.loads(theirs.body)
    for found in (ours, theirs):
        found.headers |= dict.fromkeys(("id", "root_id"))
        found.properties |= dict.fromkeys(("correlation_id", "delivery_tag", "reply_to"))
        found.properties |= {"argsrepr": "", "kwargsrepr": ""}  # `send_task` leaves what it is given there as well
    assert ours.headers == theirs.headers
    assert ours.properties == theirs.properties
