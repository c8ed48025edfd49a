"""Celery beat beside the worker that takes its messages. Of several, the one with RedBeat's lock is active."""

import logging
import math
import threading
from typing import Any

from celery import Celery
from celery.beat import Service
from celery.signals import beat_init, worker_shutting_down
from redbeat import RedBeatScheduler, RedBeatSchedulerEntry
from redbeat.schedulers import get_redis
from redis.exceptions import RedisError

from ragcore.errors import RagcoreError
from ragcore.triggers.due import DueTimes
from tasks.base import process_runtime
from tasks.schedule import ENTRIES, reindex_times

log = logging.getLogger(__name__)

AGAIN_AFTER = 1.0  # seconds, when the lock was lost or Redis does not answer
ENDS_WITHIN = 3.0  # seconds
CLOCKS_DIFFER = 5.0  # seconds
CHATTY = ("celery.beat", "celery.worker.strategy", "celery.app.trace")  # a line each second, or two


class Scheduler(RedBeatScheduler):
    """A clock that was set back leaves entries, and triggers, that are due in an hour: they begin anew."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        if late := self._too_late(self.app.now().timestamp()):
            log.warning("the clock was set back: the schedule begins anew")
            for key in late:
                RedBeatSchedulerEntry.from_key(key, app=self.app).reschedule()
            _look_again()
        seconds: float = super().tick(*args, **kwargs)
        return seconds

    def _too_late(self, now: float) -> list[str]:
        """The keys of the entries that are due later than their interval allows."""
        every = {RedBeatSchedulerEntry.generate_key(self.app, name): ENTRIES[name]["schedule"] for name in ENTRIES}
        due = get_redis(self.app).zrange(self.app.redbeat_conf.schedule_key, 0, -1, withscores=True)
        return [key for key, at in due if at > now + every.get(key, math.inf) + CLOCKS_DIFFER]


class Beat:
    """Starts anew when Redis lost its lock and its entries, or was away."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._service: Service | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)

    def start(self) -> None:
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)
        worker_shutting_down.connect(self._stop, weak=False)
        self._thread.start()

    def _run(self) -> None:
        _look_again()
        while not self._over.is_set():
            try:
                self._service = Service(self._app, scheduler_cls=Scheduler)
                self._service.start()
            except (RedisError, OSError) as error:
                log.warning("this beat begins again: %s", error)
            except Exception:
                log.exception("this beat begins again")
            self._over.wait(AGAIN_AFTER)

    def _stop(self, **_: Any) -> None:
        """Gives the lock back, so that another is active at once. One that waits for it has nothing to end."""
        self._over.set()
        if self._service:
            self._service.stop()
            if self._service.scheduler.lock:
                self._thread.join(ENDS_WITHIN)


@beat_init.connect  # after RedBeat's own, which waits for the lock
def begin(sender: Any, **_: Any) -> None:
    """This beat is active from now on. Redis may have lost the entries while it waited, or due times."""
    if sender.scheduler.lock is None:
        return
    log.warning("this beat is active")
    sender.scheduler.setup_schedule()
    _look_again()


def _look_again() -> None:
    """The documents say what is due: triggers may have been written while no beat ran."""
    runtime = process_runtime()
    try:
        for times in (DueTimes(runtime.redis), reindex_times(runtime)):
            times.fill_again()
    except RagcoreError as error:
        log.warning("due times are looked for later: %s", error)
