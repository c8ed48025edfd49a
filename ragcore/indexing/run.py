"""What a feed job and a walk share: the turn of the instance, its scopes, and the sync of one file.

A job that is done is taken out of the ledger; whatever else it comes to, it is owed.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from ragcore import turns
from ragcore.config import IndexJobs
from ragcore.errors import NotFound, Retryable
from ragcore.files.tree import Tree
from ragcore.indexing.memberships import Memberships
from ragcore.indexing.scopes import Scopes, read_scopes
from ragcore.indexing.sync import MEDIA, Sync
from ragcore.indexing.uploads import Uploads
from ragcore.instances import Instance
from ragcore.jobs import FeedJob, IndexJob, OperateJob
from ragcore.ledger import Owed, owed_id
from ragcore.runtime import Runtime
from ragcore.store import Document, Store
from ragcore.turns import Turn, take_turn
from ragcore.work import Work

log = logging.getLogger(__name__)


@dataclass
class Run:
    """`again` asks for another turn of the same job, behind those that wait; `error` is what a job that is over was
    given up on; `result` is what its document tells of it."""

    work: Work
    owed: Owed
    instance: Instance
    store: Store
    tree: Tree
    scopes: Scopes
    sync: Sync
    settings: IndexJobs
    turn: Turn
    again: bool = False
    error: str = ""
    result: Document | None = None

    def may_go_on(self) -> bool:
        """False when this process ends: the job goes on elsewhere."""
        return not self.work.runtime.ending.is_set()

    def is_to_give_way(self) -> bool:
        """Whether another job of the instance waits, or this process ends."""
        return not self.may_go_on() or self.turn.is_wanted()

    def require_openrag(self) -> None:
        """Raises Retryable when openRAG is away: what failed then says nothing about a file."""
        self.sync.openrag.workspaces()


def index_job(work: Work, job: IndexJob, apply: Callable[[Run], None]) -> None:
    """One index job of an instance at a time, over all machines. Raises Taken, Retryable, NotFound.

    The work of an instance that is gone is owed no more.
    """
    turns.begins(work.runtime.redis, owed_id(job))
    owed = work.ledger.get(job)
    if owed is None:  # done already: the message came twice
        turns.unmark(work.runtime.redis, owed_id(job))
        return
    try:
        instance = work.runtime.instances.get(job.domain)
    except NotFound as error:
        log.warning("%s is not owed any more: %s", owed.id, error)
        work.ledger.remove(owed)
        return
    turn = take_turn(work.runtime.redis, job.domain, owed.id)
    again: list[str] = []
    try:
        work.documents(job.domain).running(owed.job_id)
        run = _run(work, owed, instance, turn)
        apply(run)
        turn.check()
        again = _over(run)
    finally:
        work.push_again([*turn.end(), *again])


def _over(run: Run) -> list[str]:
    """Records what became of a job: the work that goes on."""
    work, documents = run.work, run.work.documents(run.instance.domain)
    if run.error:
        # what is left to do is another job: this one keeps its error
        rest = [work.owe(FeedJob(run.instance.domain)).id] if run.again else []
        documents.errored(run.owed.job_id, run.error)
    elif run.again and _is_owed(run):
        return [run.owed.id]
    else:
        rest = []
        documents.done(run.owed.job_id, run.result)
    work.ledger.remove(run.owed)
    return rest


def _is_owed(run: Run) -> bool:
    """Not when the same work was asked for meanwhile: then that job goes on, and this one is done."""
    owed = run.work.ledger.get(run.owed.job)
    return owed is not None and owed.job_id == run.owed.job_id


def job_failed(work: Work, job: IndexJob, error: Exception) -> None:
    """The last execution failed: recorded, and tried again by the sweep, less and less often.

    An operator's job is over: who asked for it was told.
    """
    if owed := work.ledger.get(job):
        job_id = job.job_id or owed.job_id
        work.documents(job.domain).errored(job_id, str(error))
        if job_id != owed.job_id:
            return  # the same work was asked for meanwhile: that job tries again
        if isinstance(job, OperateJob):
            work.ledger.remove(owed)
        else:
            told = error.retry_after if isinstance(error, Retryable) else None
            work.ledger.failed(owed, time.time(), told or 0)


def _run(work: Work, owed: Owed, instance: Instance, turn: Turn) -> Run:
    runtime = work.runtime
    scopes = read_scopes(runtime.store, instance)
    return Run(
        work=work,
        owed=owed,
        instance=instance,
        store=runtime.store,
        tree=Tree(runtime.store, instance),
        scopes=scopes,
        sync=_sync(runtime, instance, len(scopes.folders), owed),
        settings=runtime.config.jobs.rag_index,
        turn=turn,
    )


def _sync(runtime: Runtime, instance: Instance, workspaces: int, owed: Owed) -> Sync:
    openrag = runtime.openrag(instance)
    batch = None if owed.dir_id else runtime.config.jobs.rag_index.batch_size
    return Sync(
        openrag=openrag,
        storage=runtime.storage,
        instance=instance,
        uploads=Uploads(runtime.redis, instance.domain),
        memberships=Memberships(openrag, workspaces, batch),
        callback_url=f"{runtime.config.public_url(instance.domain)}/ai/index/status",
        media=frozenset(kind for kind in MEDIA if instance.flag(runtime.config, f"rag.index.{kind}.enabled") is True),
    )
