"""The `io.cozy.jobs` documents: what became of a job (`contracts/cozy.md`, Jobs and triggers)."""

import uuid
from dataclasses import dataclass
from typing import Any

from ragcore import units
from ragcore.documents import FILES
from ragcore.errors import Invalid, NotFound
from ragcore.instances import Instance
from ragcore.jobs import Cause, FeedJob, IndexJob, OperateJob, WalkJob
from ragcore.permissions import Forbidden
from ragcore.store import Document, Store

DOCTYPE = "io.cozy.jobs"
WORKER = "rag-index"
RESERVED = ("rag-query",)  # no client may push it
BY_TRIGGER = "by-trigger-id"  # the Mango index of the jobs of a trigger, named as Cozy's own
BY_END = "by-worker-and-finished-at"


def message_of(job: IndexJob) -> Document:
    """The message as clients and triggers write it."""
    more = {}
    if isinstance(job, WalkJob):
        more = {"reconcile_dir_id": job.dir_id}
    elif isinstance(job, OperateJob):
        more = {"operation": job.action}
    return {"doctype": FILES, **more}


def job_of(domain: str, message: Any, pointer: str = "") -> FeedJob | WalkJob:
    """The job of a message that a client or a trigger wrote. Raises Invalid."""
    if not isinstance(message, dict) or "doctype" not in message:
        raise Invalid('a message of rag-index is {"doctype": "io.cozy.files"}', pointer)
    if message["doctype"] != FILES:
        raise Invalid("only io.cozy.files are indexed", f"{pointer}/doctype")
    dir_id = message.get("reconcile_dir_id") or ""
    if not isinstance(dir_id, str):
        raise Invalid("reconcile_dir_id is the id of a folder", f"{pointer}/reconcile_dir_id")
    return WalkJob(domain, dir_id) if dir_id else FeedJob(domain)


def require_worker(worker: str) -> None:
    """Raises Forbidden for a worker that is reserved, NotFound for one that nobody knows."""
    if worker in RESERVED:
        raise Forbidden(f"{worker} is reserved")
    if worker != WORKER:
        raise NotFound(f"there is no worker {worker}")


@dataclass(frozen=True)
class JobDocuments:
    store: Store
    instance: Instance

    def queued(self, job: IndexJob, cause: Cause | None = None) -> str:
        """The id of the new document."""
        doc = {"worker": WORKER, "message": message_of(job), "state": "queued", "queued_at": units.now()}
        job_id = uuid.uuid4().hex
        self.store.save(self.instance, DOCTYPE, {"_id": job_id, "options": None, **doc, **_told(cause)})
        return job_id

    def caused(self, job_id: str, cause: Cause) -> None:
        """A job that waited already serves for a trigger too: it is that trigger's, unless it is another's."""

        def change(doc: Document) -> Document | None:
            theirs = "_rev" not in doc or doc.get("trigger_id") not in (None, cause.trigger_id)
            told = _told(cause)
            return None if theirs or told.items() <= doc.items() else {**doc, **told}

        self.store.update(self.instance, DOCTYPE, job_id, change)

    def get(self, job_id: str) -> Document:
        """Raises NotFound."""
        return self.store.get(self.instance, DOCTYPE, job_id)

    def running(self, job_id: str) -> None:
        self._change(job_id, state="running", started_at=units.now())

    def done(self, job_id: str, result: Document | None = None) -> None:
        told = {"result": result} if result is not None else {}
        self._change(job_id, state="done", finished_at=units.now(), error="", **told)

    def errored(self, job_id: str, error: str) -> None:
        self._change(job_id, state="errored", finished_at=units.now(), error=error)

    def unfinished(self, worker: str) -> list[Document]:
        """The jobs that wait or run, oldest first."""
        selector = {"worker": worker, "state": {"$in": ["queued", "running"]}}
        found = self.store.find(self.instance, DOCTYPE, selector)
        return sorted(found, key=lambda doc: str(doc.get("queued_at")))

    def of_trigger(self, trigger_id: str, limit: int) -> list[Document]:
        """The jobs of a trigger, the newest first."""
        return self._find(BY_TRIGGER, ["trigger_id", "queued_at"], {"trigger_id": trigger_id}, limit, "desc")

    def remove_finished(self, before: str, limit: int) -> int:
        """Removes jobs that were over before a date, the oldest first: how many."""
        selector = {"worker": WORKER, "finished_at": {"$lt": before}, "state": {"$in": ["done", "errored"]}}
        found = self._find(BY_END, ["worker", "finished_at"], selector, limit, "asc")
        gone = [{"_id": doc["_id"], "_rev": doc["_rev"], "_deleted": True} for doc in found]
        return sum(doc is not None for doc in self.store.save_each(self.instance, DOCTYPE, gone))

    def _find(self, index: str, fields: list[str], selector: Document, limit: int, order: str) -> list[Document]:
        return self.store.find_in_order(
            self.instance, DOCTYPE, selector, index=index, fields=fields, order=order, limit=limit
        )

    def _change(self, job_id: str, **fields: Any) -> None:
        """A document that is gone stays gone: the job does not depend on it."""

        def change(doc: Document) -> Document:
            if "_rev" not in doc:
                raise NotFound(job_id)
            return {**doc, **fields}

        try:
            self.store.update(self.instance, DOCTYPE, job_id, change)
        except NotFound:
            return


def _told(cause: Cause | None) -> Document:
    if cause is None:
        return {}
    return {"trigger_id": cause.trigger_id} | ({"manual_execution": True} if cause.manual else {})
