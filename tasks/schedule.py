"""What happens by time: the entries of Celery beat, and their tasks.

They have a queue of their own, which the processes of `ragcore beat` themselves consume (`tasks/beat.py`): an index
worker's few threads may all hold walks, and a due time would wait for one of them to end. So every process that sends
takes too, and no queue fills while the index workers are away. An entry that was not taken in time expires.
"""

import logging
import time
from typing import Any

from ragcore.errors import RagcoreError
from ragcore.indexing import reindex as reindexing
from ragcore.old_jobs import remove_old_jobs
from ragcore.runtime import Runtime
from ragcore.triggers import firing
from ragcore.triggers.due import DueTimes
from tasks.app import SCHEDULE, app
from tasks.base import RagTask

log = logging.getLogger(__name__)


class ScheduledTask(RagTask):
    """What fails is tried again with the next message."""

    def __call__(self, **message: Any) -> None:
        try:
            super().__call__(**message)
        except RagcoreError as error:
            log.warning("%s: %s", self.name, error)


def _entry(task: str, every: float, expires: float) -> dict[str, Any]:
    """In seconds."""
    return {"task": f"{SCHEDULE}.{task}", "schedule": every, "options": {"expires": expires}}


ENTRIES = {
    "due": _entry("due", every=1, expires=5),
    "fill": _entry("fill", every=5, expires=5),
    "reindex": _entry("reindex", every=5, expires=5),
    "clean jobs": _entry("clean_jobs", every=3600, expires=1800),
}
app.conf.beat_schedule = ENTRIES


@app.task(base=ScheduledTask, bind=True, name=f"{SCHEDULE}.due")
def due(self: ScheduledTask) -> None:
    """Launches the triggers that are due."""
    firing.fire_due(self.work, DueTimes(self.runtime.redis))


@app.task(base=ScheduledTask, bind=True, name=f"{SCHEDULE}.fill")
def fill(self: ScheduledTask) -> None:
    """Looks for due times that Redis does not know, every few minutes, and when it lost them."""
    triggers, instances = DueTimes(self.runtime.redis), reindex_times(self.runtime)
    triggers.fill(firing.times(self.runtime, triggers.now()))
    instances.fill(reindexing.times(self.runtime, instances.now()))


@app.task(base=ScheduledTask, bind=True, name=f"{SCHEDULE}.reindex")
def reindex(self: ScheduledTask) -> None:
    """Enqueues the walks of the instances that are due, as long as few are owed."""
    reindexing.reindex_due(self.work, reindex_times(self.runtime))


@app.task(base=ScheduledTask, bind=True, name=f"{SCHEDULE}.clean_jobs")
def clean_jobs(self: ScheduledTask) -> None:
    """Removes old jobs."""
    remove_old_jobs(self.runtime, time.time())


def reindex_times(runtime: Runtime) -> DueTimes:
    return DueTimes(runtime.redis, reindexing.KEY)
