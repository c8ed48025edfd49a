"""How a worker ends: it takes no message more, lets its jobs go on for a while, and breaks off what is left.

Celery alone waits for the threads of its pool without end, whatever the signal. Here:

- SIGTERM, or SIGINT: index jobs give their turn up at their place, answers have `grace` to end;
- a second one, or SIGQUIT: the grace is over;
- the answers that are left then break off, and tell their clients an error;
- what does not end even so, as a thread that waits for a server, ends with the process: the ledger's sweep finds it.
"""

import logging
import os
import signal
import threading
import time
from typing import Any

from celery.bootsteps import StartStopStep
from celery.concurrency.thread import TaskPool
from celery.platforms import EX_FAILURE, signals
from celery.signals import worker_shutting_down
from celery.worker.state import active_requests

from ragcore.config import Jobs
from tasks.app import INDEX, QUERY, app
from tasks.base import process_runtime
from tasks.broker import read_to_end

log = logging.getLogger(__name__)

LOOK_EVERY = 0.1  # seconds
BREAKS_OFF_WITHIN = 5.0  # seconds


class Ending(StartStopStep):
    """A step of the worker: it stops behind the consumer and before the pool, which waits for its threads."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **_: Any) -> None:
        self._told = 0.0  # when
        self._is_over = False  # the grace

    def include_if(self, worker: Any) -> bool:
        return issubclass(worker.pool_cls, TaskPool)

    def start(self, worker: Any) -> None:
        worker_shutting_down.connect(self._hear, weak=False)
        signals["SIGINT"] = lambda *_: signal.raise_signal(signal.SIGTERM)
        signals["SIGQUIT"] = self._hear_quit

    def _hear(self, **_: Any) -> None:
        """Inside a signal handler: nothing here waits."""
        self._is_over = self._is_over or self._told > 0
        self._told = self._told or time.monotonic()

    def _hear_quit(self, *_: Any) -> None:
        self._is_over = True
        signal.raise_signal(signal.SIGTERM)

    def stop(self, worker: Any) -> None:
        runtime = process_runtime()
        runtime.ending.set()
        read_to_end(worker.consumer.task_consumer)
        until = self._told + grace(runtime.config.jobs, worker.app.amqp.queues.consume_from)
        while active_requests and not self._is_over and time.monotonic() < until:
            time.sleep(LOOK_EVERY)
        runtime.claims.interrupt()
        threading.Thread(target=_end_anyway, name="end", daemon=True).start()


def _end_anyway() -> None:
    time.sleep(BREAKS_OFF_WITHIN)
    log.error("jobs do not end: they are left to the ledger's sweep")
    os._exit(EX_FAILURE)


def grace(jobs: Jobs, queues: Any) -> float:
    """The seconds that the jobs of a worker have, by the names of its queues."""
    seconds = {INDEX: jobs.rag_index.grace, QUERY: jobs.rag_query.grace}
    return max((seconds.get(name, 0.0) for name in queues), default=0.0)


app.steps["worker"].add(Ending)
