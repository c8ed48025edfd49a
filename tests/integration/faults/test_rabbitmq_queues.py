"""The queues in a RabbitMQ that nobody takes from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragcore.config import Config
from ragcore.jobs import AnswerJob, FeedJob, WalkJob
from tasks.app import INDEX, QUERY, create_app
from tasks.base import CeleryQueue
from tests.support.chaos import whole
from tests.support.rabbitmq import needs_rabbitmq, rabbitmq

pytestmark = [whole, needs_rabbitmq]


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[CeleryQueue]:
    with rabbitmq(tmp_path) as (_, url):
        yield CeleryQueue(create_app(Config.model_validate({"broker": {"url": url}})))


def test_what_nobody_waits_for_is_taken_last(queue: CeleryQueue) -> None:
    assert not queue.has_answers()
    queue.answer(AnswerJob("d", "p", "c", "q"))
    queue.walk(WalkJob("d", "x", background=True))
    queue.walk(WalkJob("d", "x"))
    queue.feed(FeedJob("d"))
    assert queue.has_answers()
    with queue.app.connection_for_read() as connection:
        queues = [queue.app.amqp.queues[name](connection.default_channel) for name in (QUERY, INDEX, INDEX, INDEX)]
        messages = [of.get(no_ack=True) for of in queues]
    assert [message.headers["task"].split(".")[1] for message in messages] == ["answer", "walk", "feed", "walk"]
    assert messages[-1].payload[1]["background"]
    assert not queue.has_answers()
