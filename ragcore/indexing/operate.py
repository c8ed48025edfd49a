"""What operators ask for: reset, reconcile, prune and purge (the seed's Operator tools; `contracts/decisions.md`).

The first two enqueue jobs; the others are index jobs themselves, so that they never run beside another one.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from ragcore.errors import Failed, NotFound
from ragcore.indexing.apply import Tally, chunks, claimed, side_by_side, walk_duplicates
from ragcore.indexing.feed import Checkpoint
from ragcore.indexing.run import Run, index_job
from ragcore.indexing.scopes import read_scopes
from ragcore.jobs import OperateJob, WalkJob
from ragcore.work import Work

log = logging.getLogger(__name__)

PRUNE, PURGE = "prune", "purge"
LOOK_EVERY = 0.1  # seconds


@dataclass
class Counts:
    files_scanned: int = 0
    files_deleted: int = 0
    workspaces_deleted: int = 0


def reset(work: Work, domain: str) -> list[str]:
    """Has the whole feed read again: the ids of the jobs. Raises NotFound, Retryable."""
    return [work.feed(domain, reset=True)]


def reconcile(work: Work, domain: str, dir_id: str = "") -> list[str]:
    """Has one knowledge base folder walked, or all of them: the ids of the jobs.

    Raises NotFound for an unknown instance, and for a folder that no assistant uses.
    """
    scopes = read_scopes(work.runtime.store, work.runtime.instances.get(domain))
    folders = [folder.id for folder in scopes.folders if not dir_id or folder.id == dir_id]
    if dir_id and not folders:
        raise NotFound(f"no assistant uses the folder {dir_id}")
    return [work.walk(domain, folder) for folder in folders]


def prune(work: Work, domain: str) -> str:
    """Deletes what no knowledge base folder claims: the id of the job. Raises NotFound, Retryable."""
    return work.operate(domain, PRUNE)


def purge(work: Work, domain: str) -> str:
    """Deletes everything that openRAG holds for the instance, and the checkpoint: the id of the job."""
    return work.operate(domain, PURGE)


def wait_for(work: Work, domain: str, job_id: str, seconds: float) -> Counts | None:
    """What an operation counted, or None when it is not over in this time. Raises Failed."""
    deadline = time.monotonic() + seconds
    documents = work.documents(domain)
    while (job := documents.get(job_id))["state"] in ("queued", "running"):
        if time.monotonic() > deadline:
            return None
        time.sleep(LOOK_EVERY)
    if job["state"] == "errored":
        raise Failed(str(job["error"]))
    return Counts(**job["result"])


def run_operation(work: Work, job: OperateJob) -> None:
    """Raises Taken when another index job of the instance runs, Retryable."""
    index_job(work, job, _operate)


def _operate(run: Run) -> None:
    counts = OPERATIONS[run.owed.action](run)
    run.result = asdict(counts)
    log.info("%s: %s: %s", run.instance.domain, run.owed.action, run.result)


def _prune(run: Run) -> Counts:
    """Everything is decided before anything is deleted: what cannot be read deletes nothing."""
    openrag = run.sync.openrag
    unused = (openrag.workspaces() or set()) - run.scopes.workspaces().keys()
    counts = Counts()
    unclaimed = list(_unclaimed(run, counts))
    tally = Tally()
    for file_ids in chunks(unclaimed):
        walk_duplicates(run, file_ids)
        side_by_side(run, file_ids, run.sync.remove, str, tally)
        run.turn.check()
    if tally.failures:
        raise tally.to_retry()
    counts.files_deleted = len(unclaimed)
    for workspace in unused:
        openrag.delete_workspace(workspace, keep_files=True)
        run.turn.check()
        counts.workspaces_deleted += 1
    return counts


def _unclaimed(run: Run, counts: Counts) -> Iterator[str]:
    """The files on openRAG that no knowledge base folder contains."""
    for file_ids in chunks(run.sync.openrag.files()):
        counts.files_scanned += len(file_ids)
        kept = claimed(run, file_ids)
        yield from (file_id for file_id in file_ids if file_id not in kept)
        run.turn.check()


def _purge(run: Run) -> Counts:
    """The walks that are owed go with it: they would fill the partition again. So do the uploads in flight: nobody
    will say what became of them."""
    openrag, domain = run.sync.openrag, run.instance.domain
    counts = Counts(workspaces_deleted=len(openrag.workspaces() or ()))
    counts.files_scanned = counts.files_deleted = sum(1 for _ in openrag.files())
    run.turn.check()
    openrag.delete_partition()
    run.sync.uploads.forget()
    for owed in run.work.ledger.all():
        if owed.domain == domain and isinstance(owed.job, WalkJob):
            run.work.take_back(owed.job)
    Checkpoint.delete(run.store, run.instance)
    return counts


OPERATIONS: dict[str, Callable[[Run], Counts]] = {PRUNE: _prune, PURGE: _purge}
