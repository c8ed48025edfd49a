"""Triggers whose time has come are launched: once for each due time; of those that were missed, once for all."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime

from ragcore.errors import Conflict, NotFound, RagcoreError, Retryable
from ragcore.runtime import Runtime
from ragcore.triggers.documents import Triggers
from ragcore.triggers.due import DueTimes, Taken
from ragcore.triggers.launching import launch
from ragcore.work import Work

log = logging.getLogger(__name__)

AT_ONCE = 20  # triggers that are taken together: another process may take the next meanwhile
TAKES = 10  # of one call
AGAIN_AFTER = 2.0  # seconds, when one could not be launched


def times(runtime: Runtime, now: float) -> Iterator[tuple[str, str, float]]:
    """Each trigger that is for a time, of all instances: its domain, its id, and when it is due.

    Raises, at the end, the error of an instance whose triggers could not be read.
    """
    failure: RagcoreError | None = None
    for instance in runtime.instances.all():
        try:
            triggers = Triggers(runtime.store, instance).all()
        except RagcoreError as error:
            failure = error
            continue
        for trigger in triggers:
            if (at := trigger.due_at(now)) is not None:
                yield instance.domain, trigger.id, at
    if failure:
        raise failure


def fire_due(work: Work, due: DueTimes) -> int:
    """Launches what is due: how many. Raises Retryable when Redis does not answer."""
    fired = 0
    for _ in range(TAKES):
        together = due.take(AT_ONCE)
        for taken in together:
            if due.is_held(taken):  # else another takes it
                fired += _fire(work, due, taken)
        if len(together) < AT_ONCE:
            break
    return fired


def _fire(work: Work, due: DueTimes, taken: Taken) -> bool:
    try:
        next_ = _launch(work, due, taken)
    except (Retryable, Conflict) as error:
        log.warning("%s: trigger %s fires later: %s", taken.domain, taken.name, error)
        due.settle(taken, due.now() + AGAIN_AFTER)
        return False
    except RagcoreError as error:
        log.info("%s: trigger %s does not fire: %s", taken.domain, taken.name, error)
        due.settle(taken, None)
        return False
    except Exception:
        log.exception("%s: trigger %s does not fire", taken.domain, taken.name)
        due.settle(taken, None)
        return False
    due.settle(taken, next_)
    return True


def _launch(work: Work, due: DueTimes, taken: Taken) -> float | None:
    """When it is due next. What is due once is removed."""
    instance = work.runtime.instances.get(taken.domain)
    triggers = Triggers(work.runtime.store, instance, due)
    trigger = triggers.get(taken.name)
    schedule = trigger.schedule
    if schedule is None:
        raise NotFound("it is for no time")
    launch(work, instance, trigger)
    if not schedule.periodic:
        triggers.delete(trigger)
        return None
    at = schedule.next_after(datetime.fromtimestamp(taken.at, UTC))
    return at.timestamp() if at else None
