"""The `io.cozy.jobs` documents: what became of a job (`contracts/cozy.md`, Jobs and triggers)."""

import uuid
from dataclasses import dataclass
from typing import Any

from ragcore import units
from ragcore.errors import NotFound
from ragcore.instances import Instance
from ragcore.jobs import IndexJob, OperateJob, WalkJob
from ragcore.store import Document, Store

DOCTYPE = "io.cozy.jobs"
WORKER = "rag-index"


def message_of(job: IndexJob) -> Document:
    """The message as clients and triggers write it."""
    more = {}
    if isinstance(job, WalkJob):
        more = {"reconcile_dir_id": job.dir_id}
    elif isinstance(job, OperateJob):
        more = {"operation": job.action}
    return {"doctype": "io.cozy.files", **more}


@dataclass(frozen=True)
class JobDocuments:
    store: Store
    instance: Instance

    def queued(self, job: IndexJob) -> str:
        """The id of the new document."""
        doc = {"worker": WORKER, "message": message_of(job), "state": "queued", "queued_at": units.now()}
        job_id = uuid.uuid4().hex
        self.store.save(self.instance, DOCTYPE, {"_id": job_id, "options": None, **doc})
        return job_id

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
