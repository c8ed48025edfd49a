"""The `io.cozy.triggers` documents, and the state of a trigger: what became of its jobs."""

import logging
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from ragcore import units
from ragcore.errors import NotFound, RagcoreError
from ragcore.instances import Instance
from ragcore.job_documents import WORKER, JobDocuments, job_of, require_worker
from ragcore.store import Document, Store
from ragcore.triggers import rules, schedules
from ragcore.triggers.due import DueTimes
from ragcore.triggers.rules import Rule
from ragcore.triggers.schedules import Schedule

log = logging.getLogger(__name__)

DOCTYPE = "io.cozy.triggers"
EVENT = "@event"
KINDS = (EVENT, *schedules.KINDS)
SHOWN = 50  # jobs of a trigger, the newest, as in Cozy
DEBOUNCED = "30s"


@dataclass(frozen=True)
class Trigger:
    """Others write triggers too, of other kinds and workers: what is wrong with one is told when it is used.

    `debounce` is a duration as Go writes it, empty for none; `created_at` a date as the documents hold it.
    """

    type: str
    arguments: str
    worker: str
    message: Any = None
    debounce: str = ""
    options: dict[str, Any] | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created_at: str = field(default_factory=units.now)
    rev: str = ""

    @classmethod
    def from_document(cls, doc: Document) -> "Trigger":
        metadata = doc.get("cozyMetadata")
        options = doc.get("options")
        return cls(
            type=_text(doc.get("type")),
            arguments=_text(doc.get("arguments")),
            worker=_text(doc.get("worker")),
            message=doc["message"] if doc.get("message") is not None else doc.get("worker_arguments"),
            debounce=_text(doc.get("debounce")),
            options=options if isinstance(options, dict) else None,
            id=doc["_id"],
            created_at=_text(metadata.get("createdAt")) if isinstance(metadata, dict) else "",
            rev=doc["_rev"],
        )

    def to_document(self, domain: str) -> Document:
        dates = {"createdAt": self.created_at, "updatedAt": self.created_at}
        metadata = {"doctypeVersion": "1", "metadataVersion": 1, **dates}
        return {"_id": self.id, **self.attributes(domain), "cozyMetadata": metadata}

    def attributes(self, domain: str) -> Document:
        """As the routes and the command show them."""
        return {
            "domain": domain,
            "type": self.type,
            "worker": self.worker,
            "arguments": self.arguments,
            "debounce": self.debounce,
            "options": self.options,
            "message": self.message,
        }

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The changes that it is for: none, unless it is an `@event`. Raises Invalid."""
        return rules.parse(self.arguments) if self.type == EVENT else ()

    @cached_property
    def schedule(self) -> Schedule | None:
        """When it is due: None for an `@event`. Raises Invalid."""
        if self.type == EVENT:
            return None
        return schedules.parse(self.type, self.arguments, self.id, self._made)

    def due_at(self, now: float) -> float | None:
        """When it is due next (Unix time): None for an `@event`, for one that is never due, and for one of another
        writer that is not for us. One that is due once is so until it was fired, however long ago that was."""
        try:
            require_worker(self.worker)
            job_of("", self.message)
            schedule = self.schedule
        except RagcoreError:
            return None
        if schedule is None:
            return None
        after = now if schedule.periodic else 0.0
        at = schedule.next_after(datetime.fromtimestamp(after, UTC))
        return at.timestamp() if at else None

    @cached_property
    def delay(self) -> float:
        """Seconds from the first event to the job. Raises ValueError."""
        return units.parse_duration(self.debounce) if self.debounce else 0.0

    @property
    def _made(self) -> datetime:
        try:
            moment = datetime.fromisoformat(self.created_at)
        except ValueError:  # one of another writer
            return datetime.fromtimestamp(0, UTC)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Triggers:
    """Who gives the due times has them follow what is created and deleted at once; else they do within minutes."""

    store: Store
    instance: Instance
    due: DueTimes | None = None

    @property
    def _jobs(self) -> JobDocuments:
        return JobDocuments(self.store, self.instance)

    def create(self, trigger: Trigger) -> Trigger:
        saved = Trigger.from_document(
            self.store.save(self.instance, DOCTYPE, trigger.to_document(self.instance.domain))
        )
        self._tell_due(saved)
        return saved

    def create_for_index(self) -> None:
        """The two that wake the index worker (the seed, Indexation)."""
        message = {"doctype": "io.cozy.files"}
        self.create(Trigger(EVENT, "io.cozy.files", WORKER, message, DEBOUNCED))
        self.create(Trigger(EVENT, "io.cozy.ai.chat.assistants", WORKER, message))

    def get(self, trigger_id: str) -> Trigger:
        """Raises NotFound."""
        try:
            return Trigger.from_document(self.store.get(self.instance, DOCTYPE, trigger_id))
        except NotFound:
            raise NotFound(f"there is no trigger {trigger_id}") from None

    def all(self) -> list[Trigger]:
        """The oldest first."""
        found = map(Trigger.from_document, self.store.all(self.instance, DOCTYPE))
        return sorted(found, key=lambda trigger: (trigger.created_at, trigger.id))

    def delete(self, trigger: Trigger) -> None:
        """Raises NotFound when it is gone, Conflict when it was written since it was read."""
        self.store.delete(self.instance, DOCTYPE, {"_id": trigger.id, "_rev": trigger.rev})
        self._tell_due(trigger, deleted=True)

    def _tell_due(self, trigger: Trigger, deleted: bool = False) -> None:
        """The documents are the truth: the schedule follows them, without Redis later."""
        if self.due is None or trigger.type == EVENT:
            return
        try:
            if deleted:
                self.due.remove(self.instance.domain, trigger.id)
            elif at := trigger.due_at(self.due.now()):
                self.due.add(self.instance.domain, trigger.id, at)
        except RagcoreError as error:
            log.warning("%s: the schedule hears of the trigger %s later: %s", self.instance.domain, trigger.id, error)

    def jobs(self, trigger_id: str, limit: int = SHOWN) -> list[Document]:
        """Its jobs, the newest first."""
        return self._jobs.of_trigger(trigger_id, limit)

    def state(self, trigger_id: str) -> Document:
        """Its `current_state`."""
        return state_of(trigger_id, self.jobs(trigger_id))


def state_of(trigger_id: str, jobs: list[Document]) -> Document:
    """What became of the jobs of a trigger, the newest first; times are those of their starts."""
    state: Document = {"trigger_id": trigger_id, "status": "done"}
    for job in reversed(jobs):
        at, job_id = job.get("started_at") or job.get("queued_at"), job["_id"]
        state |= {"status": job.get("state"), "last_execution": at, "last_executed_job_id": job_id}
        if job.get("manual_execution"):
            state |= {"last_manual_execution": at, "last_manual_job_id": job_id}
        if job.get("state") == "done":
            state |= {"last_success": at, "last_successful_job_id": job_id}
        elif job.get("state") == "errored":
            state |= {"last_failure": at, "last_failed_job_id": job_id, "last_error": job.get("error")}
    return state


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
