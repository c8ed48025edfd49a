"""What a feed job and a walk share: the turn of the instance, its scopes, and the sync of one file.

A job that is done is taken out of the ledger; whatever else it comes to, it is owed.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from ragcore.config import IndexJobs
from ragcore.files.tree import Tree
from ragcore.indexing.scopes import Scopes, read_scopes
from ragcore.indexing.sync import MEDIA, Sync
from ragcore.instances import Instance
from ragcore.jobs import IndexJob
from ragcore.ledger import Owed
from ragcore.runtime import Runtime
from ragcore.store import Store
from ragcore.turns import Turn, take_turn
from ragcore.work import Work

log = logging.getLogger(__name__)


@dataclass
class Run:
    """`again` asks for another turn of the same job, behind those that wait."""

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


def index_job(work: Work, job: IndexJob, apply: Callable[[Run], None]) -> None:
    """One index job of an instance at a time, over all machines. Raises Taken, Retryable, NotFound."""
    owed = work.ledger.get(job)
    if owed is None:
        return  # done already: the message came twice
    instance = work.runtime.instances.get(job.domain)
    documents = work.documents(job.domain)
    again: list[str] = []
    turn = take_turn(work.runtime.redis, job.domain, owed.id)
    try:
        documents.running(owed.job_id)
        run = _run(work, owed, instance, turn)
        apply(run)
        turn.check()
        if run.again:
            again.append(owed.id)
        else:
            documents.done(owed.job_id)
            work.ledger.remove(run.owed)
    finally:
        work.push_again([*turn.end(), *again])


def job_failed(work: Work, job: IndexJob, error: Exception) -> None:
    """The last execution failed: recorded, and tried again by the sweep, less and less often."""
    if owed := work.ledger.get(job):
        work.documents(job.domain).errored(owed.job_id, str(error))
        work.ledger.failed(owed, time.time())


def _run(work: Work, owed: Owed, instance: Instance, turn: Turn) -> Run:
    runtime = work.runtime
    return Run(
        work=work,
        owed=owed,
        instance=instance,
        store=runtime.store,
        tree=Tree(runtime.store, instance),
        scopes=read_scopes(runtime.store, instance),
        sync=_sync(runtime, instance),
        settings=runtime.config.jobs.rag_index,
        turn=turn,
    )


def _sync(runtime: Runtime, instance: Instance) -> Sync:
    return Sync(
        openrag=runtime.openrag(instance),
        store=runtime.store,
        storage=runtime.storage,
        instance=instance,
        callback_url=f"{runtime.config.public_url(instance.domain)}/ai/index/status",
        media=frozenset(kind for kind in MEDIA if instance.flag(runtime.config, f"rag.index.{kind}.enabled") is True),
    )
