"""A queue that keeps its jobs, for tests."""

from dataclasses import dataclass, field
from typing import Any

from ragcore.errors import Retryable
from ragcore.jobs import AnswerJob, FeedJob, OperateJob, WalkJob


@dataclass
class Recorded:
    """A queue that nobody takes from; it can be out of order."""

    jobs: list[Any] = field(default_factory=list)
    broken: bool = False

    def answer(self, job: AnswerJob) -> None:
        self.jobs.append(job)

    def feed(self, job: FeedJob) -> None:
        self._add(job)

    def walk(self, job: WalkJob) -> None:
        self._add(job)

    def operate(self, job: OperateJob) -> None:
        self._add(job)

    def has_index_jobs(self) -> bool:
        return bool(self.jobs)

    def _add(self, job: Any) -> None:
        if self.broken:
            raise Retryable("the queue is away")
        self.jobs.append(job)
