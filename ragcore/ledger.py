"""The ledger of the work that is owed: small documents of `global/rag-owed`, only of what is outstanding.

It survives everything: Redis can be emptied and workers killed; the sweep (`work.py`) finds what nobody does.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any, cast

from ragcore.errors import Conflict, NotFound
from ragcore.jobs import FeedJob, IndexJob, OperateJob, WalkJob
from ragcore.store import GLOBAL, Document, Store

DOCTYPE = "rag-owed"
QUESTION = "question:"  # what the ids of the questions begin with
BEHIND_QUESTIONS = "question;"  # what the ids of the rest that are not before them begin with, at least
LOST_AFTER = 10.0  # seconds that a message is out of the queue, and its work not begun
FIRST_WAIT = 60.0  # seconds after the last execution of a job that failed, then twice as long each time
LONGEST_WAIT = 3600.0  # seconds


@dataclass(frozen=True)
class Owed:
    """One piece of work. `place` is how far a walk has come, `reset` has a feed read from its beginning; it is not
    tried before `not_before` (Unix time), which was `wait` seconds ahead when it was written."""

    id: str
    domain: str
    dir_id: str = ""
    action: str = ""
    reset: bool = False
    job_id: str = ""
    background: bool = False
    place: dict[str, Any] = field(default_factory=dict)
    failures: int = 0
    not_before: float = 0.0
    wait: float = LONGEST_WAIT
    rev: str = ""

    @property
    def job(self) -> IndexJob:
        if self.dir_id:
            return WalkJob(self.domain, self.dir_id, self.job_id, self.background)
        if self.action:
            return OperateJob(self.domain, self.action, self.job_id)
        return FeedJob(self.domain, self.job_id)

    def is_due(self, now: float) -> bool:
        """A time that is further ahead than the wait was written before the clock was set back."""
        return not now < self.not_before <= now + self.wait

    @classmethod
    def from_document(cls, doc: Document) -> "Owed":
        known = {name: doc[name] for name in cls.__dataclass_fields__ if name in doc}
        return cls(**known | {"id": doc["_id"], "rev": doc["_rev"]})


def owed_id(job: IndexJob) -> str:
    """One entry for the feed of an instance, one for each folder that is to be walked, one for each operator's job."""
    match job:
        case WalkJob():
            return f"walk:{job.domain}:{job.dir_id}"
        case OperateJob():
            return f"{job.action}:{job.domain}"
        case FeedJob():
            return f"feed:{job.domain}"


class Ledger:
    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, job: IndexJob, reset: bool = False) -> Owed:
        """Writes that the job is owed, from its beginning. Its revision changes: who ends an earlier job of the same
        work does not take this one out. A reset that is owed stays owed."""

        def entry(current: Document) -> Document:
            identity = {key: current[key] for key in ("_id", "_rev") if key in current}
            resets = {"reset": True} if reset or current.get("reset") else {}
            return identity | asdict(job) | resets

        saved = self._store.update(GLOBAL, DOCTYPE, owed_id(job), entry, attempts=5)
        return Owed.from_document(cast(Document, saved))

    def get(self, job: IndexJob) -> Owed | None:
        return self.by_id(owed_id(job))

    def by_id(self, work: str) -> Owed | None:
        try:
            return Owed.from_document(self._store.get(GLOBAL, DOCTYPE, work))
        except NotFound:
            return None

    def all(self) -> Iterator[Owed]:
        """The work of the index workers; the questions are `chat.owed`'s."""
        before = self._store.all(GLOBAL, DOCTYPE, before=QUESTION)
        behind = self._store.all(GLOBAL, DOCTYPE, since=BEHIND_QUESTIONS)
        return map(Owed.from_document, chain(before, behind))

    def save(self, owed: Owed, **changes: Any) -> Owed:
        """Raises Conflict when the work was asked for again meanwhile."""
        return Owed.from_document(self._store.save(GLOBAL, DOCTYPE, _document(replace(owed, **changes))))

    def failed(self, owed: Owed, now: float, wait: float = 0.0) -> None:
        """The last execution failed: the sweep tries again, less and less often, and not before `wait` seconds."""
        doubled = 2 ** min(owed.failures, 10)  # what fails for weeks counts to more than a float holds
        wait = max(wait, min(FIRST_WAIT * doubled, LONGEST_WAIT))
        self._unless_asked_again(lambda: self.save(owed, failures=owed.failures + 1, not_before=now + wait, wait=wait))

    def remove(self, owed: Owed) -> None:
        """The work is done."""
        self._unless_asked_again(lambda: self._store.delete(GLOBAL, DOCTYPE, {"_id": owed.id, "_rev": owed.rev}))

    def _unless_asked_again(self, write: Callable[[], object]) -> None:
        try:
            write()
        except (Conflict, NotFound):
            return


def _document(owed: Owed) -> Document:
    fields = asdict(owed)
    return {"_id": fields.pop("id"), "_rev": fields.pop("rev"), **fields}
