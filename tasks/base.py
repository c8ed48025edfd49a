"""What all tasks share: the process's runtime, the queue, and what becomes of an error that may pass."""

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from amqp.exceptions import AMQPError
from celery import Celery, Task
from kombu import uuid
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from ragcore import config, turns
from ragcore.errors import RagcoreError, Retryable
from ragcore.indexing.run import job_failed
from ragcore.jobs import AnswerJob, FeedJob, IndexJob, OperateJob, SummaryJob, WalkJob, from_message, to_message
from ragcore.ledger import owed_id
from ragcore.runtime import Runtime
from ragcore.turns import Taken
from ragcore.work import Work
from tasks.app import INDEX, QUERY
from tasks.servers import CONFIRMED_WITHIN, declares_queues, last_priority

log = logging.getLogger(__name__)

BROKER_ERRORS = (OperationalError, AMQPError, RedisError, OSError)


@dataclass(frozen=True)
class CeleryQueue:
    """The `Queue` that ragcore is handed."""

    app: Celery

    def answer(self, job: AnswerJob) -> None:
        # of a name of its own: a worker of an older version would answer it as a chat, from more than passages
        self._push(QUERY, "grounded" if job.surface else "answer", job)

    def summarize(self, job: SummaryJob) -> None:
        self._push(QUERY, "summarize", job, background=True)

    def has_answers(self) -> bool:
        return self._has_messages(QUERY)

    def feed(self, job: FeedJob) -> None:
        self._push(INDEX, "feed", job)

    def walk(self, job: WalkJob) -> None:
        self._push(INDEX, "walk", job, job.background)

    def operate(self, job: OperateJob) -> None:
        self._push(INDEX, "operate", job)

    def has_index_jobs(self) -> bool:
        return self._has_messages(INDEX)

    def _has_messages(self, name: str) -> bool:
        """Of any priority."""
        with _told(), self.app.connection_for_read() as connection:
            queue = self.app.amqp.queues[name](connection.default_channel)
            return bool(queue.queue_declare().message_count)

    def _push(self, queue: str, task: str, job: Any, background: bool = False) -> None:
        """As `send_task` does, without what of it nobody needs here: that takes as long as to send."""
        amqp, message = self.app.amqp, to_message(job)
        priority = last_priority(self.app) if background else self.app.conf.task_default_priority
        # without Celery's own description of the arguments: it takes long, and holds what a user wrote
        described = {"argsrepr": "", "kwargsrepr": "", "ignore_result": True}
        prepared = amqp.create_task_message(uuid(), f"{queue}.{task}", kwargs=message, **described)
        declared = None if declares_queues(self.app) else ()  # None is for the queue itself
        options = {"queue": queue, "declare": declared, "priority": priority, "confirm_timeout": CONFIRMED_WITHIN}
        with _told(), self.app.producer_or_acquire() as producer:
            amqp.send_task_message(producer, f"{queue}.{task}", prepared, **options)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BROKER_ERRORS as error:
        raise Retryable("the job cannot be enqueued: the broker does not answer") from error


@lru_cache(maxsize=1)
def process_runtime() -> Runtime:
    return Runtime(config.load())


class RagTask(Task):
    @property
    def runtime(self) -> Runtime:
        return process_runtime()

    @property
    def jobs(self) -> CeleryQueue:  # `queue` is Celery's own
        return CeleryQueue(self.app)

    @property
    def work(self) -> Work:
        return Work(self.runtime, self.jobs)


class IndexTask(RagTask):
    """A job whose instance is worked on holds no worker slot: it waits for its turn. One that fails waits, longer each
    time; after its last execution the sweep tries again. What an operator asked for is executed once."""

    def __call__(self, **message: Any) -> None:
        try:
            super().__call__(**message)
        except Taken as taken:
            log.info("%s", taken)
        except RagcoreError as error:
            self._failed(job_of(message), error)
        except Exception as error:  # a bug is no reason to try for ever, nor to leave the job unfinished
            log.exception("unexpected error")
            self._failed(job_of(message), RagcoreError(f"unexpected {type(error).__name__}"))

    def _failed(self, job: IndexJob, error: RagcoreError) -> None:
        settings = self.runtime.config.jobs.rag_index
        if isinstance(job, OperateJob) or self.request.retries >= settings.max_exec_count - 1:
            log.error("%s failed: %s", owed_id(job), error)
            job_failed(self.work, job, error)
            return
        wait = settings.retry_delay * 2**self.request.retries * (1 + random.random() / 4)  # noqa: S311
        told = error.retry_after if isinstance(error, Retryable) else None
        countdown = max(wait, told or 0)
        # so long the message is with this worker; if that is killed, the sweep finds it
        if not self._mark(job, countdown + turns.LEASE):
            log.info("%s: another message of it is in the queue already", owed_id(job))
            return
        raise self.retry(exc=error, countdown=countdown, max_retries=settings.max_exec_count) from error

    def _mark(self, job: IndexJob, seconds: float) -> bool:
        """Where Redis takes no mark, none stays: the job's message is gone, and the sweep is to see that. A Redis that
        is out of memory still deletes."""
        try:
            return turns.mark_later(self.runtime.redis, owed_id(job), seconds)
        except Retryable:
            turns.unmark(self.runtime.redis, owed_id(job))
            raise


def job_of(message: dict[str, Any]) -> IndexJob:
    if "dir_id" in message:
        return from_message(WalkJob, message)
    return from_message(OperateJob, message) if "action" in message else from_message(FeedJob, message)
