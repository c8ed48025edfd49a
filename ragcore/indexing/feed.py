"""The feed job: one batch of the changes of an instance's files, after the checkpoint."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ragcore.documents import FILES, Directory, File
from ragcore.errors import NotFound, Retryable
from ragcore.indexing.apply import Tally, apply_directory, apply_files, side_by_side
from ragcore.indexing.run import Run, index_job
from ragcore.indexing.workspaces import apply_diff
from ragcore.instances import Instance
from ragcore.jobs import FeedJob
from ragcore.store import Changes, Document, Store
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


def run_feed(work: Work, job: FeedJob) -> None:
    """Reads a batch, applies it, moves the checkpoint; takes another turn when more is waiting.

    Raises Taken when another index job of the instance runs, Retryable when the batch is to be tried again.
    """
    index_job(work, job, _feed)


def _feed(run: Run) -> None:
    failed = apply_diff(run.sync.openrag, run.scopes, run.work)
    run.scopes = run.scopes.without(failed)  # their files are walked once the workspaces are there
    checkpoint = Checkpoint.load(run.store, run.instance)
    try:
        changes = run.store.changes(run.instance, FILES, checkpoint.last_seq, run.settings.batch_size)
    except NotFound:
        return
    tally = apply_batch(run, changes.documents)
    run.turn.check()
    _move(run, checkpoint, changes, tally)
    run.again = changes.more
    if failed and not run.again:
        raise Retryable(f"no workspace could be made for {', '.join(failed)}")


def _move(run: Run, checkpoint: Checkpoint, changes: Changes, tally: Tally) -> None:
    """The checkpoint moves past a batch that is done, or given up on. Raises Retryable for one to try again."""
    domain = run.instance.domain
    if tally.failures and checkpoint.retries < run.settings.max_batch_retries:
        checkpoint.save(run.store, run.instance, checkpoint.last_seq, checkpoint.retries + 1)
        raise tally.to_retry()
    if tally.failures:
        log.error("%s: given up on files %s", domain, ", ".join(name for name, _ in tally.failures))
    if changes.last_seq != checkpoint.last_seq:
        checkpoint.save(run.store, run.instance, changes.last_seq, 0)
        log.info("%s: a batch of %d changes: %s", domain, len(changes.documents), tally)


def apply_batch(run: Run, docs: list[Document]) -> Tally:
    """Applies the scope rule to the files of a batch, then to the direct files of its directories."""
    tally = Tally()
    gone = [doc["_id"] for doc in docs if doc.get("_deleted")]
    docs = [doc for doc in docs if not doc.get("_deleted")]
    files = [File.from_document(doc) for doc in docs if doc.get("type") == "file"]
    parents = run.tree.directories({file.dir_id for file in files})
    side_by_side(gone, run.sync.remove, str, run.settings.parallel_requests, tally)
    apply_files(run, _with_parents(files, parents), tally)
    done = {file.id for file in files}
    for doc in docs:
        if doc.get("type") == "directory":
            try:
                apply_directory(run, Directory.from_document(doc), tally, done)
            except Retryable as error:
                tally.fail(f"all files of the folder {doc['_id']}", error)
    return tally


def _with_parents(files: list[File], parents: dict[str, Directory]) -> Iterator[tuple[File, Directory]]:
    for file in files:
        if file.dir_id in parents:
            yield file, parents[file.dir_id]
        else:
            log.warning("file %s is skipped: its folder %s is not there", file.id, file.dir_id)
