"""The `@event` triggers of all instances, as the watcher fires them."""

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from redis.exceptions import RedisError

from ragcore.errors import Invalid, RagcoreError, retryable
from ragcore.instances import Instance
from ragcore.job_documents import WORKER
from ragcore.permissions import Forbidden, covers
from ragcore.runtime import version_key
from ragcore.store import Document
from ragcore.triggers.documents import DOCTYPE, EVENT, Trigger, Triggers
from ragcore.triggers.launching import launch
from ragcore.work import Work

log = logging.getLogger(__name__)


@dataclass
class EventTriggers:
    """Remembers the triggers of an instance until one is written: Redis counts that before who wrote it is told."""

    work: Work
    _known: dict[str, tuple[str | None, list[Trigger]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def matching(self, instance: Instance, verb: str, doctype: str, doc: Document) -> Iterator[tuple[str, float]]:
        """The ids of the triggers that an event fires, each with its debounce in seconds. Raises Retryable."""
        if doctype == DOCTYPE:
            self._forget(instance)
        for trigger in self._of(instance):
            if any(rule.matches(verb, doctype, doc) for rule in trigger.rules):
                yield trigger.id, trigger.delay

    def of_doctype(self, instance: Instance, doctype: str) -> Iterator[tuple[str, float]]:
        """Those that some event of a doctype fires."""
        for trigger in self._of(instance):
            if any(covers(rule.type, doctype) for rule in trigger.rules):
                yield trigger.id, trigger.delay

    def fire(self, domain: str, trigger_id: str) -> None:
        """Raises NotFound when it is gone, Retryable."""
        instance = self.work.runtime.instances.get(domain)
        trigger = Triggers(self.work.runtime.store, instance).get(trigger_id)
        try:
            launch(self.work, instance, trigger)
        except (Invalid, Forbidden) as error:
            log.warning("%s: trigger %s cannot be launched: %s", domain, trigger_id, error)

    def _of(self, instance: Instance) -> list[Trigger]:
        version = self._version(instance.domain)
        with self._lock:
            known = self._known.get(instance.domain)
        if known and known[0] == version:
            return known[1]
        found = Triggers(self.work.runtime.store, instance).all()
        triggers = [trigger for trigger in found if trigger.type == EVENT and _is_usable(instance, trigger)]
        with self._lock:
            self._known[instance.domain] = version, triggers
        return triggers

    def _forget(self, instance: Instance) -> None:
        """Also what somebody else wrote is read."""
        with self._lock:
            self._known.pop(instance.domain, None)

    def _version(self, domain: str) -> str | None:
        with retryable(RedisError, "triggers are not read: Redis does not answer"):
            return cast(str | None, self.work.runtime.redis.get(version_key(domain)))


def _is_usable(instance: Instance, trigger: Trigger) -> bool:
    try:
        return bool(trigger.rules) and trigger.delay >= 0 and trigger.worker == WORKER
    except (RagcoreError, ValueError) as error:
        log.warning("%s: trigger %s is ignored: %s", instance.domain, trigger.id, error)
        return False
