"""The scheduled reindex: walks what should be indexed already, and repairs what was missed.

`contexts.<name>.reindex` says when it begins; each instance has a time of its own in the hours after that, always the
same.
"""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256

from ragcore.config import Config
from ragcore.errors import NotFound, RagcoreError
from ragcore.indexing.scopes import read_scopes
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.triggers import schedules
from ragcore.triggers.due import DueTimes, Taken
from ragcore.work import Work

log = logging.getLogger(__name__)

KEY = "ragcore:reindex"  # a sorted set: domain and @cron line, scored with the time when the instance is due
SPREAD = 4 * 3600  # seconds
AT_ONCE = 2  # background walks that are owed; when they are so many, no further instance begins
LOOKS = 50  # instances of one call: many may have no folder to walk
AGAIN_AFTER = 60.0  # seconds, when walks could not be enqueued


def times(runtime: Runtime, now: float) -> Iterator[tuple[str, str, float]]:
    """Each instance that is walked by itself: its domain, the line, and when it is due. Raises Retryable."""
    for instance in runtime.instances.all():
        line = line_of(runtime.config, instance)
        if line and (at := due_at(line, instance.domain, now)) is not None:
            yield instance.domain, line, at


def line_of(config: Config, instance: Instance) -> str:
    """Empty: it is not walked by itself."""
    context = config.contexts.get(instance.context or "default")
    return context.reindex if context else ""


def due_at(line: str, domain: str, now: float) -> float | None:
    """When an instance is due next (Unix time)."""
    offset = int.from_bytes(sha256(domain.encode()).digest()) % SPREAD
    begins = schedules.cron(line).next_after(datetime.fromtimestamp(now - offset, UTC))
    return begins.timestamp() + offset if begins else None


def reindex_due(work: Work, due: DueTimes) -> int:
    """Enqueues the walks of the instances whose time has come, as long as few are owed: how many instances.

    Raises Retryable.
    """
    done = 0
    for _ in range(LOOKS):
        if _owed(work, due.now()) >= AT_ONCE or not (taken := due.take(1)):
            break
        done += _walk(work, due, taken[0])
    return done


def _owed(work: Work, now: float) -> int:
    """Background walks; those that failed and wait for long keep no other from beginning."""
    return sum(owed.background and owed.is_due(now) for owed in work.ledger.all())


def _walk(work: Work, due: DueTimes, taken: Taken) -> bool:
    try:
        instance = work.runtime.instances.get(taken.domain)
        line = line_of(work.runtime.config, instance)
        if line != taken.name:
            raise NotFound("the configuration has another time for it")
        for folder in read_scopes(work.runtime.store, instance).folders:
            work.walk_in_background(instance.domain, folder.id)
    except NotFound as error:
        log.info("%s is not reindexed: %s", taken.domain, error)
        due.settle(taken, None)
        return False
    except RagcoreError as error:
        log.warning("%s is reindexed later: %s", taken.domain, error)
        due.settle(taken, due.now() + AGAIN_AFTER)
        return False
    due.settle(taken, due_at(line, taken.domain, taken.at))
    return True
