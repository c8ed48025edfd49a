"""How index jobs come to be, and how none is lost.

A job is owed in the ledger, recorded as a document, marked, and handed to the queue, in that order. What the ledger
owes and nobody does is enqueued by the sweep, which every worker and API process runs, one of them at a time.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from redis import Redis
from redis.exceptions import RedisError

from ragcore import turns
from ragcore.errors import RagcoreError
from ragcore.job_documents import JobDocuments
from ragcore.jobs import Cause, FeedJob, IndexJob, OperateJob, Queue, WalkJob
from ragcore.ledger import LOST_AFTER, Ledger, Owed
from ragcore.runtime import Runtime

log = logging.getLogger(__name__)

SWEEP_EVERY = 5.0  # seconds
SWEEPING = "ragcore:sweeping"  # a lease: one process at a time
KNOWN = "ragcore:swept"  # gone when Redis lost its data, or was away for long
KNOWN_FOR = 12.0  # seconds without any process: claims run out before

# KEYS: known. ARGV: ms of a lease, ms that it is kept. Whether this Redis is known for longer than a lease lasts.
KNOWN_LONG_ENOUGH = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local since = redis.call('GET', KEYS[1])
if not since then
  redis.call('SET', KEYS[1], now, 'PX', ARGV[2])
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return now - since >= tonumber(ARGV[1]) and 1 or 0
"""


@dataclass(frozen=True)
class Work:
    """Each call raises Retryable when the job could not be enqueued, NotFound for an unknown instance."""

    runtime: Runtime
    queue: Queue

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.runtime.store)

    def documents(self, domain: str) -> JobDocuments:
        return JobDocuments(self.runtime.store, self.runtime.instances.get(domain))

    def feed(self, domain: str, reset: bool = False, cause: Cause | None = None) -> str:
        """The id of the job that will read the feed, after a `reset` from its beginning; one that is in the queue
        already serves."""
        return self.push(self.owe(FeedJob(self._own(domain)), reset, cause))

    def walk(self, domain: str, dir_id: str, cause: Cause | None = None) -> str:
        return self.push(self.owe(WalkJob(self._own(domain), dir_id), cause=cause))

    def walk_in_background(self, domain: str, dir_id: str) -> None:
        """Nobody waits for it: all other jobs come first. One that is owed already serves."""
        walk = WalkJob(self._own(domain), dir_id, background=True)
        if self.ledger.get(walk) is None:
            self.push(self.owe(walk))

    def launch(self, job: FeedJob | WalkJob, cause: Cause | None = None) -> str:
        """Pushes the job of a message: its id."""
        if isinstance(job, WalkJob):
            return self.walk(job.domain, job.dir_id, cause)
        return self.feed(job.domain, cause=cause)

    def operate(self, domain: str, action: str) -> str:
        """One that cannot be enqueued is owed by nobody: who asked is told so, and nothing is deleted later."""
        owed = self.owe(OperateJob(self._own(domain), action))
        try:
            return self.push(owed)
        except RagcoreError:
            self.take_back(owed.job)
            raise

    def _own(self, domain: str) -> str:
        """An instance takes turns under its own domain, whichever of its names it is asked for by."""
        return self.runtime.instances.get(domain).domain

    def owe(self, job: IndexJob, reset: bool = False, cause: Cause | None = None) -> Owed:
        """Writes what is owed, unless a job of the same work waits already, for a worker or its turn: that serves."""
        owed = self.ledger.get(job)
        documents = self.documents(job.domain)
        if owed and self._state(owed).is_to_begin:
            if cause:
                documents.caused(owed.job_id, cause)
            # a walk that has a place begins again: what is behind it may have changed
            return self.ledger.add(owed.job, reset) if reset or owed.place else owed
        return self.ledger.add(replace(job, job_id=documents.queued(job, cause)), reset)

    def push(self, owed: Owed) -> str:
        """Marks the work and hands it to the queue, unless its message is there already: the id of the job."""
        if turns.mark(self.runtime.redis, owed.id):
            try:
                self._hand_over(owed.job)
                turns.in_queue(self.runtime.redis, owed.id)
            except RagcoreError:
                turns.unmark(self.runtime.redis, owed.id)
                raise
        return owed.job_id

    def _hand_over(self, job: IndexJob) -> None:
        match job:
            case WalkJob():
                self.queue.walk(job)
            case OperateJob():
                self.queue.operate(job)
            case FeedJob():
                self.queue.feed(job)

    def push_again(self, works: list[str]) -> None:
        """Enqueues what waited for a turn that is over. What fails here is owed: the sweep comes."""
        for work in works:
            try:
                if owed := self.ledger.by_id(work):
                    self.push(owed)
            except RagcoreError as error:
                log.warning("%s is left to the sweep: %s", work, error)

    def take_back(self, job: IndexJob) -> None:
        """The job is not owed after all."""
        if owed := self.ledger.get(job):
            self.ledger.remove(owed)
            self.documents(job.domain).errored(owed.job_id, "it was taken back")

    def sweep(self, now: float) -> int:
        """Enqueues what is owed and done by nobody: how many."""
        states = [(owed, self._state(owed)) for owed in self.ledger.all() if owed.is_due(now)]
        idle = [owed for owed, state in states if not state.is_done_by_somebody]
        idle += self._unmark_lost([owed for owed, state in states if state.queued_for > LOST_AFTER])
        for owed in idle:
            log.warning("%s is owed and done by nobody: enqueued", owed.id)
            self.push(owed)
        return len(idle)

    def _unmark_lost(self, queued: list[Owed]) -> list[Owed]:
        """A message that a worker took along when it died is missed once the queue is empty. One that was not lost then
        comes twice, which is harmless."""
        if not queued or self.queue.has_index_jobs():
            return []
        for owed in queued:
            turns.unmark(self.runtime.redis, owed.id)
        return queued

    def _state(self, owed: Owed) -> turns.State:
        return turns.state(self.runtime.redis, owed.domain, owed.id)


class Sweeper:
    """Calls each sweep, with the time, every few seconds, in a thread, if no other process does."""

    def __init__(self, redis: Redis, sweeps: Sequence[Callable[[float], int]]) -> None:
        self._redis = redis
        self._sweeps = sweeps

    def start(self) -> None:
        threading.Thread(target=self._run, name="sweeper", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(SWEEP_EVERY)
            try:
                if self._may_sweep():
                    self._sweep()
            except RedisError as error:
                log.warning("the ledger is not swept: %s", error)

    def _sweep(self) -> None:
        """What one sweep cannot do, or a bug of it, keeps no other from being done."""
        for sweep in self._sweeps:
            try:
                sweep(time.time())
            except (RagcoreError, RedisError) as error:
                log.warning("the ledger is not swept: %s", error)
            except Exception:
                log.exception("the ledger is not swept")

    def _may_sweep(self) -> bool:
        """After Redis lost its data, or was away, every lease is renewed first."""
        known = self._redis.eval(KNOWN_LONG_ENOUGH, 1, KNOWN, int(turns.LEASE * 1000), int(KNOWN_FOR * 1000))
        return bool(known) and bool(self._redis.set(SWEEPING, "1", nx=True, px=int(SWEEP_EVERY * 900)))
