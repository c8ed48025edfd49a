"""Instances with many files that openRAG is equal to already, made quickly, and index jobs run in this process."""

import base64
import hashlib
import json
import resource
import sqlite3
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local.stack import Stack
from ragcore.documents import FILES, Directory, File
from ragcore.files.records import join, new_directory, new_file
from ragcore.files.storage import Stored
from ragcore.indexing.feed import Checkpoint, run_feed
from ragcore.indexing.sync import metadata_of
from ragcore.indexing.walk import run_walk
from ragcore.instances import Instance
from ragcore.jobs import FeedJob, IndexJob, WalkJob
from ragcore.openrag.names import workspace_of
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.work import Work
from tests.bench.people import runtime_of
from tests.support.files import Drive

FOLDER_SIZE = 100  # files in each folder
BULK = 1000  # documents in a request
PARALLEL = 8  # calls of openRAG side by side, as the configuration has it

INDEXED = "INSERT INTO files VALUES (?, ?, ?, ?, ?, '', 1, 1)"
MEMBER = "INSERT INTO memberships VALUES (?, ?, ?)"
WITH_A_CHUNK = "INSERT INTO chunks (partition, file_id, page) VALUES (?, ?, 1)"  # else it would have no metadata


class NoQueue:
    """The benchmark runs the jobs itself."""

    def answer(self, job: object) -> None: ...

    def has_answers(self) -> bool:
        return True

    def has_index_jobs(self) -> bool:
        return True

    def feed(self, job: object) -> None: ...

    def walk(self, job: object) -> None: ...

    def operate(self, job: object) -> None: ...


@dataclass(frozen=True)
class Cost:
    """`calls` are of openRAG, `memory` is by how many bytes the process grew."""

    seconds: float
    calls: int
    memory: int


class Jobs:
    """Runs index jobs in this process, and counts the calls of openRAG."""

    def __init__(self, stack: Stack) -> None:
        self.runtime = runtime_of(stack)
        self._calls = 0
        self.runtime.session.hooks["response"].append(self._count)

    def run(self, job: IndexJob, parallel: int = PARALLEL) -> Cost:
        """To the end of the work, up to `parallel` calls side by side."""
        work = self._work(parallel)
        work.ledger.add(job)
        calls, memory, began = self._calls, resident(), time.monotonic()
        while work.ledger.get(job):
            run_walk(work, job) if isinstance(job, WalkJob) else run_feed(work, job)  # type: ignore[arg-type]
        return Cost(time.monotonic() - began, self._calls - calls, resident() - memory)

    def _work(self, parallel: int) -> Work:
        config = self.runtime.config
        jobs = config.jobs.rag_index.model_copy(update={"parallel_requests": parallel})
        config = config.model_copy(update={"jobs": config.jobs.model_copy(update={"rag_index": jobs})})
        runtime = Runtime(config)
        runtime.__dict__.update(session=self.runtime.session, store=self.runtime.store, redis=self.runtime.redis)
        return Work(runtime, NoQueue())

    def _count(self, *_: Any, **__: Any) -> None:
        self._calls += 1


class UpToDate:
    """An instance with a knowledge base folder of so many files, all of them on openRAG, and its feed read.

    They are written straight into both databases: uploads would take longer than what is measured.
    """

    def __init__(self, stack: Stack, runtime: Runtime, domain: str, count: int) -> None:
        self._runtime = runtime
        self.instance = new_drive(runtime, domain)
        drive = Drive(runtime, self.instance)
        self.folder = drive.folder("/Papers")
        drive.assistant(self.folder)
        self.files = [doc for start in range(0, count, BULK) for doc in self._write(start, min(start + BULK, count))]
        self._index(stack)
        runtime.publisher.flush()
        last = runtime.store.last_sequence(self.instance, FILES)
        Checkpoint().save(runtime.store, self.instance, last, 0)
        next(drive.editor.tree.children(self.folder.id), None)  # the database makes its index at the first question

    @property
    def feed(self) -> FeedJob:
        return FeedJob(self.instance.domain)

    @property
    def walk(self) -> WalkJob:
        return WalkJob(self.instance.domain, self.folder.id)

    def touch(self, count: int) -> None:
        """The first files have a new revision, and the content that openRAG has."""
        docs = [doc | {"tags": [time.time()]} for doc in self.files[:count]]
        self.files[:count] = self._runtime.store.save_all(self.instance, FILES, docs)

    def _write(self, start: int, end: int) -> list[Document]:
        folders = [self._folder_of(number) for number in range(start, end, FOLDER_SIZE)]
        docs = [_file(folders[(number - start) // FOLDER_SIZE], number) for number in range(start, end)]
        made = [new_directory(folder) for folder in folders]
        return self._runtime.store.save_all(self.instance, FILES, made + docs)[len(made) :]

    def _folder_of(self, number: int) -> Directory:
        name = f"{number // FOLDER_SIZE:04}"
        return Directory(uuid.uuid4().hex, name, join(self.folder.path, name), self.folder.id)

    def _index(self, stack: Stack) -> None:
        domain, workspace = self.instance.domain, workspace_of(self.folder.id)
        openrag = self._runtime.openrag(self.instance)
        openrag.create_partition()
        openrag.create_workspace(workspace, self.folder.name)
        files = [File.from_document(doc) for doc in self.files]
        database = sqlite3.connect(stack.data / "openrag" / "sandbox.sqlite3", timeout=60)
        with database:
            database.executemany(INDEXED, (_row(domain, file) for file in files))
            database.executemany(MEMBER, ((domain, workspace, file.id) for file in files))
            database.executemany(WITH_A_CHUNK, ((domain, file.id) for file in files))
        database.close()


def _file(folder: Directory, number: int) -> Document:
    md5 = hashlib.md5(f"{folder.path} {number}".encode(), usedforsecurity=False).digest()
    stored = Stored(100, base64.b64encode(md5).decode(), Path(), Path())
    return new_file(folder.id, f"{number:06}.txt", stored)


def _row(domain: str, file: File) -> tuple[str, ...]:
    return domain, file.id, file.name, json.dumps(metadata_of(file)), file.md5sum


def new_drive(runtime: Runtime, domain: str) -> Instance:
    instance = runtime.instances.add(domain)
    Drive(runtime, instance).editor.prepare()
    return instance


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
