"""Every worker sweeps the ledger."""

from typing import Any

from celery.signals import worker_ready

from ragcore.work import Sweeper, Work
from tasks.base import CeleryQueue, process_runtime


@worker_ready.connect
def start_sweeper(sender: Any, **_: Any) -> None:
    Sweeper(Work(process_runtime(), CeleryQueue(sender.app))).start()
