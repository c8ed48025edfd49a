"""The walk (reconcile): applies the scope rule to the whole subtree of a knowledge base folder."""

import itertools
import logging
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ragcore.documents import Directory
from ragcore.events import Event
from ragcore.indexing.apply import Tally, apply_page
from ragcore.indexing.run import Run, index_job
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.jobs import WalkJob
from ragcore.openrag.names import workspace_of
from ragcore.work import Work

log = logging.getLogger(__name__)

TELL_EVERY = 1.0  # seconds


@dataclass
class Place:
    """How far a walk has come: all directories whose path is before `path` are done, and in that one all children
    up to the id `after`. `done` counts files."""

    path: str = ""
    after: str = ""
    done: int = 0


def run_walk(work: Work, job: WalkJob) -> None:
    """Stays on its own folder: makes no workspace, removes none, enqueues nothing.

    Raises Taken when another index job of the instance runs, and, at the end of the walk, Retryable when
    something failed that may pass.
    """
    index_job(work, job, _walk)


def _walk(run: Run) -> None:
    dir_id, domain = run.owed.dir_id, run.instance.domain
    folder = run.scopes.workspaces().get(workspace_of(dir_id))
    if folder is None or not run.sync.openrag.has_workspace(workspace_of(dir_id)):
        log.info("%s: no walk of %s: no assistant uses it any more", domain, dir_id)
        return
    walk = Walk(run, Place(**run.owed.place))
    walk.go_on(folder)
    log.info("%s: walk of %s%s: %s", domain, folder.path, " gives way" if run.again else "", walk.tally)
    if walk.tally.failures:
        raise walk.tally.to_retry()


class Walk:
    """Directory by directory in the order of their paths: memory does not grow with the folder."""

    def __init__(self, run: Run, place: Place) -> None:
        self._run = run
        self._place = place
        self._told = 0.0
        self.tally = Tally()

    def go_on(self, folder: Directory) -> None:
        """From its place to the end, or until another job of the instance waits."""
        for directory in self._directories(folder):
            after = self._place.after if directory.path == self._place.path else ""
            self._place.path, self._place.after = directory.path, after
            for page in self._run.tree.children(directory.id, after):
                self._place.done += apply_page(self._run, directory, page, self.tally)
                self._place.after = page[-1]["_id"]
                self._tell()
                if not self.tally.failures and self._run.turn.is_wanted():
                    self._give_way()
                    return
        self._tell(at_once=True)

    def _directories(self, folder: Directory) -> Iterator[Directory]:
        below = (Directory.from_document(doc) for doc in self._run.tree.below(folder, self._place.path))
        first = [folder] if self._place.path in ("", folder.path) else []
        return itertools.chain(first, below)

    def _give_way(self) -> None:
        self._run.owed = self._run.work.ledger.save(self._run.owed, place=asdict(self._place))
        self._run.again = True

    def _tell(self, at_once: bool = False) -> None:
        """How far it is, about once a second: `total` is what was found so far."""
        if not at_once and time.monotonic() - self._told < TELL_EVERY:
            return
        self._told = time.monotonic()
        doc = {"done": self._place.done, "total": self._place.done}
        event = Event("NOTIFIED", JOBS, self._run.owed.job_id, doc)
        self._run.work.runtime.publisher.publish(self._run.instance.domain, event)
