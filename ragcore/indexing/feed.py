"""The feed job: one batch of the changes of an instance's files, after the checkpoint."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ragcore.documents import FILES, Directory, File
from ragcore.errors import Conflict, NotFound, RagcoreError, Retryable
from ragcore.indexing.apply import Tally, apply_directory, apply_duplicates, apply_files, side_by_side, with_parents
from ragcore.indexing.run import Run, index_job
from ragcore.indexing.workspaces import apply_diff
from ragcore.instances import Instance
from ragcore.jobs import FeedJob
from ragcore.openrag import Swapping
from ragcore.store import Changes, Document, Store, UnknownSequence
from ragcore.work import Work

log = logging.getLogger(__name__)

CHECKPOINT = "rag-index"


@dataclass(frozen=True)
class Checkpoint:
    """`_local/rag-index`: where the feed was read up to, and how often the next batch has failed."""

    last_seq: Any = 0
    retries: int = 0
    rev: str | None = None

    @classmethod
    def load(cls, store: Store, instance: Instance) -> "Checkpoint":
        try:
            doc = store.get(instance, FILES, f"_local/{CHECKPOINT}")
        except NotFound:
            return cls()
        return cls(doc.get("last_seq", 0), doc.get("retries", 0), doc.get("_rev"))

    def save(self, store: Store, instance: Instance, last_seq: Any, retries: int) -> None:
        doc: Document = {"last_seq": last_seq, "retries": retries}
        store.save_local(instance, FILES, CHECKPOINT, doc | ({"_rev": self.rev} if self.rev else {}))

    @staticmethod
    def delete(store: Store, instance: Instance) -> None:
        """The feed is read from its beginning then. One that is not there is fine."""
        with suppress(NotFound):
            store.delete_local(instance, FILES, CHECKPOINT)


def run_feed(work: Work, job: FeedJob) -> None:
    """Reads a batch, applies it, moves the checkpoint; takes another turn when more is waiting.

    Raises Taken when another index job of the instance runs, Retryable when the batch is to be tried again.
    """
    index_job(work, job, _feed)


def _feed(run: Run) -> None:
    if run.owed.reset:
        Checkpoint.delete(run.store, run.instance)
        try:
            run.owed = run.work.ledger.save(run.owed, reset=False)
        except Conflict:
            return  # it was asked for again meanwhile: that job begins anew
    unserved = apply_diff(run)
    run.scopes = run.scopes.without(unserved)  # their files are walked once the workspaces are there
    checkpoint = Checkpoint.load(run.store, run.instance)
    try:
        changes = _changes(run, checkpoint)
    except NotFound:  # no file was ever written
        return
    tally = apply_batch(run, changes.documents)
    if not run.may_go_on():  # the batch may not be done: it is read again
        run.again = True
        return
    _move(run, checkpoint, changes, tally)
    run.again = changes.more
    if unserved and run.error:
        run.error += f"; {_told(unserved)}"
        run.again = True
    elif unserved and not run.again:
        raise Retryable(_told(unserved))


def _told(unserved: dict[str, RagcoreError]) -> str:
    return "; ".join(f"workspace {workspace}: {error}" for workspace, error in unserved.items())


def _changes(run: Run, checkpoint: Checkpoint) -> Changes:
    """Raises NotFound, Retryable."""
    try:
        return run.store.changes(run.instance, FILES, checkpoint.last_seq, run.settings.batch_size)
    except UnknownSequence:
        log.warning("%s: the database was made again, or restored: its feed is read anew", run.instance.domain)
        return run.store.changes(run.instance, FILES, 0, run.settings.batch_size)


def _move(run: Run, checkpoint: Checkpoint, changes: Changes, tally: Tally) -> None:
    """The checkpoint moves past a batch that is done, or given up on. Raises Retryable for one to try again.

    An attempt counts only when openRAG answers, and takes uploads: an outage gives up on nothing.
    """
    domain = run.instance.domain
    if tally.failures:
        run.require_openrag()
        if any(isinstance(error, Swapping) for _, error in tally.failures):
            raise tally.to_retry()
        if checkpoint.retries < run.settings.max_batch_retries:
            checkpoint.save(run.store, run.instance, checkpoint.last_seq, checkpoint.retries + 1)
            raise tally.to_retry()
        run.error = f"given up after {checkpoint.retries} retries: {tally.names()}"
        log.error("%s: %s", domain, run.error)
    if changes.last_seq != checkpoint.last_seq:
        checkpoint.save(run.store, run.instance, changes.last_seq, 0)
        log.info("%s: a batch of %d changes: %s", domain, len(changes.documents), tally)


def apply_batch(run: Run, docs: list[Document]) -> Tally:
    """Applies the scope rule to the files of a batch, to those that wait for their content, and to the direct files of
    the batch's directories."""
    tally = Tally()
    gone = [doc["_id"] for doc in docs if doc.get("_deleted")]
    docs = [doc for doc in docs if not doc.get("_deleted")]
    files = [File.from_document(doc) for doc in docs if doc.get("type") == "file"]
    placed = with_parents(run, files)
    side_by_side(run, gone, run.sync.remove, str, tally)
    released = dict.fromkeys(gone, "") | apply_files(run, placed, tally)
    done = {file.id for file in files}
    apply_duplicates(run, {*gone, *done}, released, tally)
    for doc in docs:
        if doc.get("type") == "directory":
            apply_directory(run, Directory.from_document(doc), tally, done)
    return tally
