import socket
from collections.abc import Callable, Iterator

import pytest

from ragcore.config import Config
from ragcore.errors import Retryable
from ragcore.jobs import AnswerJob, FeedJob, WalkJob
from tasks.app import create_app
from tasks.base import CeleryQueue


@pytest.fixture
def no_redis() -> Iterator[str]:
    """The URL of a server that is away: a port that is taken, and nobody listens on it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"redis://127.0.0.1:{taken.getsockname()[1]}/0"


@pytest.mark.parametrize(
    "push",
    [
        lambda queue: queue.answer(AnswerJob("d", "p", "c", "q")),
        lambda queue: queue.feed(FeedJob("d")),
        lambda queue: queue.walk(WalkJob("d", "x")),
    ],
    ids=["answer", "feed", "walk"],
)
def test_a_job_that_cannot_be_enqueued(push: Callable[[CeleryQueue], None], no_redis: str) -> None:
    app = create_app(Config.model_validate({"redis": {"url": no_redis}}))
    with pytest.raises(Retryable, match="cannot be enqueued"):
        push(CeleryQueue(app))
