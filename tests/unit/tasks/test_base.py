import socket
import uuid
from collections.abc import Callable, Iterator

import pytest
from celery import Celery

from ragcore.config import Config
from ragcore.errors import Refused, Retryable
from ragcore.jobs import AnswerJob, FeedJob, WalkJob
from ragcore.locks import Locked
from ragcore.runtime import Runtime
from tasks.app import create_app
from tasks.base import CeleryQueue, IndexTask, RagTask


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


class Job:
    """An index task that raises these errors, one at each execution, and counts them.

    It runs at once and in this thread, without a broker: waits are not waited for.
    """

    def __init__(self, app: Celery) -> None:
        self.app = app
        self.executed = 0

    def run(self, *outcomes: Exception | None) -> None:
        left = list(outcomes)

        def job(**message: str) -> None:
            assert message == {"domain": "d"}
            self.executed += 1
            if error := left.pop(0):
                raise error

        task = self.app.task(job, base=IndexTask, name=f"rag-index.test-{uuid.uuid4().hex}", shared=False)
        task.apply(kwargs={"domain": "d"}).get(disable_sync_subtasks=False)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Job:
    settings = Config.model_validate({"jobs": {"rag-index": {"max_exec_count": 3, "retry_delay": 1}}})
    monkeypatch.setattr(RagTask, "runtime", Runtime(settings))
    app = create_app(settings)
    app.conf.task_always_eager = True
    return Job(app)


def test_a_job_that_ends_well_runs_once(job: Job) -> None:
    job.run(None)
    assert job.executed == 1


def test_a_job_that_may_pass_is_tried_again(job: Job) -> None:
    job.run(Retryable("later"), Retryable("later", 60), None)
    assert job.executed == 3


def test_a_job_is_given_up_after_three_executions(job: Job) -> None:
    with pytest.raises(Retryable, match="third"):
        job.run(Retryable("first"), Retryable("second"), Retryable("third"), None)
    assert job.executed == 3


def test_a_job_that_finds_the_lock_taken_comes_back_as_often_as_it_takes(job: Job) -> None:
    job.run(*[Locked("x")] * 5, None)
    assert job.executed == 6


def test_what_cannot_pass_is_not_tried_again(job: Job) -> None:
    with pytest.raises(Refused):
        job.run(Refused("for good"), None)
    assert job.executed == 1
