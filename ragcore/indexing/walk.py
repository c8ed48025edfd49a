"""The walk (reconcile): applies the scope rule to the whole subtree of a knowledge base folder."""

import logging

from ragcore.documents import Directory
from ragcore.indexing.apply import Tally, apply_directory
from ragcore.indexing.run import Run, index_run
from ragcore.jobs import WalkJob
from ragcore.openrag.names import workspace_of
from ragcore.runtime import Runtime

log = logging.getLogger(__name__)


def run_walk(runtime: Runtime, job: WalkJob) -> None:
    """Stays on its own folder: makes no workspace, removes none, enqueues nothing.

    Raises Locked when another index job of the instance runs, and, at the end of the walk, Retryable when
    something failed that may pass.
    """
    with index_run(runtime, job.domain) as run:
        folder = run.scopes.workspaces().get(workspace_of(job.dir_id))
        if folder is None or not run.sync.openrag.has_workspace(workspace_of(folder.id)):
            log.info("%s: no walk of %s: no assistant uses it any more", job.domain, job.dir_id)
            return
        tally = Tally()
        _walk(run, folder, tally)
        log.info("%s: walk of %s: %s", job.domain, folder.path, tally)
        if tally.failures:
            raise tally.to_retry()


def _walk(run: Run, folder: Directory, tally: Tally) -> None:
    """Depth first; what is kept in memory is the directories that wait. One that is moved meanwhile is in the feed."""
    waiting = [folder]
    while waiting:
        waiting += apply_directory(run, waiting.pop(), tally)
