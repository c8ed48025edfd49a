"""What all tasks share: the process's runtime, the queue, and what becomes of an error that may pass."""

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from celery import Celery, Task
from kombu.exceptions import OperationalError

from ragcore import config
from ragcore.errors import Retryable
from ragcore.jobs import AnswerJob, FeedJob, WalkJob, to_message
from ragcore.locks import Locked
from ragcore.runtime import Runtime
from tasks.app import INDEX, QUERY

LOCK_WAIT = 1.0  # seconds


@dataclass(frozen=True)
class CeleryQueue:
    """The `Queue` that ragcore is handed."""

    app: Celery

    def answer(self, job: AnswerJob) -> None:
        self._push(f"{QUERY}.answer", job)

    def feed(self, job: FeedJob) -> None:
        self._push(f"{INDEX}.feed", job)

    def walk(self, job: WalkJob) -> None:
        self._push(f"{INDEX}.walk", job)

    def _push(self, name: str, job: Any) -> None:
        try:
            self.app.send_task(name, kwargs=to_message(job))
        except (OperationalError, OSError) as error:
            raise Retryable("the job cannot be enqueued: Redis does not answer") from error


@lru_cache(maxsize=1)
def process_runtime() -> Runtime:
    return Runtime(config.load())


class RagTask(Task):
    @property
    def runtime(self) -> Runtime:
        return process_runtime()

    @property
    def jobs(self) -> CeleryQueue:
        return CeleryQueue(self.app)


class IndexTask(RagTask):
    """A job that finds its instance's lock taken holds no worker slot: it comes back. One that fails waits, longer
    each time."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        settings = self.runtime.config.jobs.rag_index
        try:
            return super().__call__(*args, **kwargs)
        except Locked:
            wait = LOCK_WAIT * (1 + random.random())  # noqa: S311
            self.apply_async(args, kwargs, countdown=wait, retries=self.request.retries)
        except Retryable as error:
            wait = settings.retry_delay * 2**self.request.retries * (1 + random.random() / 4)  # noqa: S311
            raise self.retry(
                exc=error,
                countdown=max(wait, error.retry_after or 0),
                max_retries=settings.max_exec_count - 1,
            ) from error
