"""What every worker and API process does once it is ready: it sweeps the ledger, and its garbage seldom."""

from typing import Any

from celery.signals import worker_ready

from ragcore.chat.owed import OwedQuestions
from ragcore.garbage import collect_seldom
from ragcore.jobs import Queue
from ragcore.runtime import Runtime
from ragcore.work import Sweeper, Work
from tasks.base import CeleryQueue, process_runtime


@worker_ready.connect
def start_in_worker(sender: Any, **_: Any) -> None:
    start(process_runtime(), CeleryQueue(sender.app))


def start(runtime: Runtime, queue: Queue) -> None:
    Sweeper(runtime.redis, [OwedQuestions(runtime, queue).sweep, Work(runtime, queue).sweep]).start()
    collect_seldom()
