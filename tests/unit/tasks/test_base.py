import socket
import time
from collections.abc import Callable, Iterator

import pytest

from ragcore.config import Config
from ragcore.errors import Retryable
from ragcore.jobs import AnswerJob, FeedJob, WalkJob
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
