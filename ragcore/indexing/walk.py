"""The walk (reconcile): applies the scope rule to the whole subtree of a knowledge base folder."""

import itertools
import logging
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

from ragcore.documents import Directory, File
from ragcore.errors import Conflict, NotFound, RagcoreError, Retryable
from ragcore.events import Event
from ragcore.indexing.apply import CHUNK, Tally, apply_files, chunks
from ragcore.indexing.run import Run, index_job
from ragcore.indexing.sync import Outcome
from ragcore.indexing.workspaces import create
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.jobs import WalkJob, from_message
from ragcore.openrag.names import workspace_of
from ragcore.turns import Lost
from ragcore.work import Work

log = logging.getLogger(__name__)

TELL_EVERY = 1.0  # seconds
LOOK_EVERY = 0.2  # seconds between two looks whether it is to give way
GATHER = LOOK_EVERY / 2  # seconds: each turn gets somewhere
MOST_FAILURES = 100  # in a row; the walk goes on behind them later


@dataclass
class Place:
    """How far a walk has come: all directories whose path is before `path` are done, and in that one all children
    up to the id `after`. `counts` are of the files that are done, `failure` is the first one's."""

    path: str = ""
    after: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    failure: str = ""

    @property
    def done(self) -> int:
        return sum(self.counts.values())


def run_walk(work: Work, job: WalkJob) -> None:
    """Stays on its own folder: makes no other workspace, removes none, enqueues nothing.

    Raises Taken when another index job of the instance runs, and, at the end of the walk, Retryable when
    something failed that may pass.
    """
    index_job(work, job, _walk)


def _walk(run: Run) -> None:
    dir_id = run.owed.dir_id
    folder = run.scopes.workspaces().get(workspace_of(dir_id))
    if folder is None:
        log.info("%s: no walk of %s: no assistant uses it any more", run.instance.domain, dir_id)
        return
    Walk(run, folder).go_on()


class Walk:
    """Directory by directory in the order of their paths: memory does not grow with the folder."""

    def __init__(self, run: Run, folder: Directory) -> None:
        self._run = run
        self._folder = folder
        self._place = from_message(Place, run.owed.place)
        self._tally = Tally()
        self._found = self._place.done
        self._taken = 0
        self._looked = self._told = time.monotonic()
        self._wanted = False
        self._next: Directory | None = None  # none of whose files were gathered yet

    def go_on(self) -> None:
        """From its place to the end, or until another job of the instance waits, or this process ends.

        Raises Retryable, with its place kept, when it breaks off; at the end, for what failed: then it begins anew.
        """
        try:
            self._require_workspace()
            self._apply()
        except Lost:
            raise  # another job has the turn, and the place is its own
        except RagcoreError:
            self._keep_place()
            raise
        log.info("%s: walk of %s%s: %s", self._run.instance.domain, self._folder.path,
                 " gives way" if self._run.again else "", self._summary())  # fmt: skip
        if self._run.again:
            self._keep_place()
        elif self._place.failure:
            failure = self._failure()
            self._place = Place()
            self._keep_place()
            raise failure
        else:
            self._run.result = {"counts": self._place.counts}

    def _apply(self) -> None:
        for chunk in self._chunks():
            apply_files(self._run, chunk, self._tally, go_on=self._may_go_on)
            is_whole = self._taken == len(chunk)
            self._move_past(chunk[: self._taken])
            if self._wanted and is_whole:
                break
            if self._wanted:
                self._run.again = True
                return
            if self._tally.in_a_row >= MOST_FAILURES:
                raise self._failure()
        if self._wanted and self._next:
            self._run.again = True
            self._place = replace(self._place, path=self._next.path, after="")
            return
        self._tell()

    def _keep_place(self) -> None:
        """Where the walk was asked for again meanwhile, that one begins at the beginning, and this one is over."""
        try:
            self._run.owed = self._run.work.ledger.save(self._run.owed, place=asdict(self._place))
        except (Conflict, NotFound):
            self._run.again = False

    def _require_workspace(self) -> None:
        """Makes the workspace where it is gone, as after a purge: then nothing is done yet."""
        openrag, workspace = self._run.sync.openrag, workspace_of(self._folder.id)
        if not openrag.has_workspace(workspace):
            create(openrag, self._folder, workspace, first=True)
            self._place = Place()

    def _chunks(self) -> Iterator[list[tuple[File, Directory]]]:
        """Files of directories that follow each other; few where they are far between.

        Ends early when it is to give way: `_next` is then the first directory that none is of.
        """
        gathered: list[tuple[File, Directory]] = []
        began = time.monotonic()
        for directory in self._directories():
            self._next = directory
            if gathered and time.monotonic() - began > GATHER:
                yield gathered
                gathered, began = [], time.monotonic()
            if not self._look():
                break
            for files in chunks(self._files(directory)):
                gathered += files
                if len(gathered) >= CHUNK:
                    yield gathered
                    gathered, began = [], time.monotonic()
        if gathered:
            yield gathered

    def _files(self, directory: Directory) -> Iterator[tuple[File, Directory]]:
        after = self._place.after if directory.path == self._place.path else ""
        for page in self._run.tree.children(directory.id, after):
            files = [File.from_document(doc) for doc in page if doc.get("type") == "file"]
            self._found += len(files)
            yield from ((file, directory) for file in files)

    def _directories(self) -> Iterator[Directory]:
        below = (Directory.from_document(doc) for doc in self._run.tree.below(self._folder, self._place.path))
        first = [self._folder] if self._place.path in ("", self._folder.path) else []
        return itertools.chain(first, below)

    def _may_go_on(self) -> bool:
        """Asked before each file."""
        if not self._look():
            return False
        self._taken += 1
        return True

    def _look(self) -> bool:
        """Tells how far it is, and looks whether it is to give way, now and then: whether it is not."""
        self._run.turn.check()
        now = time.monotonic()
        if now - self._told >= TELL_EVERY:
            self._told = now
            self._tell()
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            self._wanted = self._run.is_to_give_way()
        return not self._wanted

    def _move_past(self, files: list[tuple[File, Directory]]) -> None:
        self._taken = 0
        if not files:
            return
        file, directory = files[-1]
        counts = self._counts()
        failures = self._tally.failures
        failure = self._place.failure or (f"{failures[0][0]} first: {failures[0][1]}" if failures else "")
        self._place = Place(directory.path, file.id, counts, failure)
        self._tally.counts.clear()

    def _counts(self) -> dict[str, int]:
        """Of the files that are done, those after its place too."""
        return dict(Counter(self._place.counts) + Counter({str(key): n for key, n in self._tally.counts.items()}))

    def _failure(self) -> Retryable:
        """What the job is tried again with."""
        count = self._place.counts.get(Outcome.FAILED, 0)
        return Retryable(f"{count} failed, {self._place.failure}", self._tally.longest_wait)

    def _tell(self) -> None:
        """How far it is, as the event of its job: `total` is what was found so far, `done` what was begun."""
        done = self._place.done + self._taken
        folder = {"dir_id": self._run.owed.dir_id}
        doc = {**folder, "done": done, "total": max(done, self._found), "counts": self._counts()}
        event = Event("NOTIFIED", JOBS, self._run.owed.job_id, doc)
        self._run.work.runtime.publisher.publish(self._run.instance.domain, event)

    def _summary(self) -> str:
        counts = Counter(self._place.counts)
        fine = counts[Outcome.INDEXED] + counts[Outcome.UP_TO_DATE]
        others = (Outcome.DUPLICATE, Outcome.REFUSED, Outcome.FAILED)
        return ", ".join([f"{fine} indexed or up to date", *(f"{counts[name]} {name}" for name in others)])
