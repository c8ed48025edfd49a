"""Index jobs that a test executes itself, as often and as quickly as it likes."""

from collections.abc import Callable
from typing import Any

from ragcore import turns
from ragcore.documents import FILES, STATUSES, File
from ragcore.errors import RagcoreError
from ragcore.indexing.feed import Checkpoint, run_feed
from ragcore.indexing.operate import run_operation
from ragcore.indexing.uploads import Uploads
from ragcore.indexing.walk import run_walk
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, FeedJob, IndexJob, OperateJob, WalkJob
from ragcore.ledger import owed_id
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.turns import Taken
from ragcore.work import Work

RUN: dict[type, Callable[[Work, Any], None]] = {FeedJob: run_feed, WalkJob: run_walk, OperateJob: run_operation}


class Indexer:
    """The queue of an instance and its only worker. What waits here is marked: the stack's workers leave it alone."""

    def __init__(self, runtime: Runtime, instance: Instance, until: Callable[..., Any]) -> None:
        self.work = Work(runtime, self)
        self.instance = instance
        self.jobs: list[IndexJob] = []
        self._runtime = runtime
        self.until = until

    def answer(self, job: AnswerJob) -> None:
        raise NotImplementedError

    def feed(self, job: FeedJob) -> None:
        self.jobs.append(job)

    def walk(self, job: WalkJob) -> None:
        self.jobs.append(job)

    def operate(self, job: OperateJob) -> None:
        self.jobs.append(job)

    @property
    def openrag(self) -> OpenRag:
        return self._runtime.openrag(self.instance)

    def run(self) -> None:
        """Executes what waits, until nothing does."""
        while self.jobs:
            self.run_one()

    def run_one(self) -> None:
        """Raises what the job raises, which then waits again, as the last, unless it waits for its turn."""
        job = self.jobs.pop(0)
        try:
            RUN[type(job)](self.work, job)
        except Taken:
            raise
        except RagcoreError:
            turns.mark(self._runtime.redis, owed_id(job))
            self.jobs.append(job)
            raise

    def read_feed(self, *files: Document) -> str:
        """Executes a feed job and what comes of it, until openRAG has these files: the id of the job."""
        job_id = self.work.feed(self.instance.domain)
        self.run()
        self.wait_for(*files)
        return job_id

    def walk_folder(self, dir_id: str) -> str:
        """Executes a walk: the id of the job."""
        job_id = self.work.walk(self.instance.domain, dir_id)
        self.run()
        return job_id

    def skip_feed(self) -> None:
        """Moves the checkpoint past all changes, as if they were done."""
        checkpoint, more = self.checkpoint(), True
        last_seq = checkpoint.last_seq
        while more:
            changes = self._runtime.store.changes(self.instance, FILES, last_seq, 100)
            last_seq, more = changes.last_seq, changes.more
        checkpoint.save(self._runtime.store, self.instance, last_seq, 0)

    def wait_for(self, *files: Document) -> None:
        """Until openRAG has indexed the content of these files."""
        for file in map(File.from_document, files):
            self.until(lambda file=file: self.content_of(file.id) == file.md5sum)

    def content_of(self, file_id: str) -> str | None:
        """The md5sum that openRAG has of a file; None where it does not know it."""
        metadata = self.openrag.file_metadata(file_id)
        return None if metadata is None else metadata.get("md5sum", "")

    def wait_for_callbacks(self) -> None:
        """Until openRAG has told of all that it was sent."""
        uploads = Uploads(self._runtime.redis, self.instance.domain)
        self.until(lambda: not uploads.all())

    def job(self, job_id: str) -> Document:
        return self.work.documents(self.instance.domain).get(job_id)

    def status(self, file: Document) -> Document:
        return self._runtime.store.get_or_new(self.instance, STATUSES, file["_id"])

    def checkpoint(self) -> Checkpoint:
        return Checkpoint.load(self._runtime.store, self.instance)

    def fresh(self, doc_id: str) -> Document:
        """The document of a file or a folder as it is now."""
        return self._runtime.store.get(self.instance, FILES, doc_id)
