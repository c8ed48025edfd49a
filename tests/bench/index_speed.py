"""What it costs to find that openRAG is equal to the folders already, beside the same work one call after the other.

`python -m tests.bench.index_speed [FILES]` starts a stack of its own, fills a folder with FILES small files (10 000),
indexes them, and then runs a feed batch and a walk over them, openRAG taking 20 ms a call. A worker then uploads a file
of 512 MiB.
"""

import re
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local.services import SERVERS
from deploy.local.stack import Stack
from ragcore.documents import FILES
from ragcore.files.importing import Import
from ragcore.indexing.feed import run_feed
from ragcore.indexing.walk import run_walk
from ragcore.jobs import FeedJob, IndexJob, WalkJob
from ragcore.runtime import Runtime
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.bench.couch_proxy import Proxy, proxy
from tests.bench.people import runtime_of
from tests.support.files import Drive
from tests.support.sandbox import Sandbox

CALL = 0.02  # seconds that openRAG takes for a call
FOLDER_SIZE = 100
BATCH = 100
PARALLEL = 8
FEW = 500  # files that are walked one call after the other: the time of a walk grows as their number
BIG = 512 * 2**20


class NoQueue:
    """The benchmark runs the jobs itself."""

    def answer(self, job: object) -> None: ...

    def feed(self, job: object) -> None: ...

    def walk(self, job: object) -> None: ...

    def operate(self, job: object) -> None: ...


@dataclass(frozen=True)
class Cost:
    """`calls` of openRAG and `requests` of the document database; `memory` is by how many bytes the process grew."""

    what: str
    parallel: int
    files: int
    seconds: float
    calls: int
    requests: int
    memory: int

    @property
    def each(self) -> float:
        return self.seconds / self.files


class Bench:
    """Runs the jobs in this process, up to `parallel` calls side by side; the session counts the calls of openRAG."""

    def __init__(self, stack: Stack, database: Proxy) -> None:
        self.database = database
        self.runtime = runtime_of(stack)
        self.sandbox = Sandbox(stack.url("openrag"))
        self.instance = self.runtime.instances.add("many.localhost")
        self.drive = Drive(self.runtime, self.instance)
        self.drive.editor.prepare()
        self.calls = 0
        self.runtime.session.hooks["response"].append(self._count)

    def fill(self, path: str, count: int) -> str:
        """The id of a new folder of that many files, a hundred in each folder below it, given to an assistant."""
        with tempfile.TemporaryDirectory() as local:
            write_files(Path(local), path, count)
            run = Import(self.drive.editor, local, path, print)
            run.plan()
            run.apply(lambda units: None)
        folder = self.drive.folder(path)
        self.drive.assistant(folder)
        return folder.id

    def index(self, count: int) -> None:
        """Reads the feed to its end, walks what that asks for, and waits for openRAG."""
        work = self._work(PARALLEL)
        self.sandbox.set(call_delay=0)
        run_to_the_end(work, FeedJob(self.instance.domain))
        for owed in list(work.ledger.all()):
            run_to_the_end(work, owed.job)
        openrag, deadline = self.runtime.openrag(self.instance), time.monotonic() + 600
        while sum(1 for _ in openrag.files()) < count:
            assert time.monotonic() < deadline, "openRAG does not come to an end"
            time.sleep(0.5)
        run_to_the_end(work, FeedJob(self.instance.domain))
        self.sandbox.set(call_delay=CALL)

    def walk(self, dir_id: str, files: int, parallel: int) -> Cost:
        return self._measure("walk", files, parallel, WalkJob(self.instance.domain, dir_id))

    def feed(self, parallel: int) -> Cost:
        """A batch of files that were touched: they have a new revision, and the content that openRAG has."""
        store, files = self.runtime.store, []
        for doc in store.all(self.instance, FILES):
            if doc.get("type") == "file" and len(files) < BATCH:
                files.append(doc | {"tags": [str(parallel)]})
        store.save_all(self.instance, FILES, files)
        return self._measure("feed batch", BATCH, parallel, FeedJob(self.instance.domain))

    def _measure(self, what: str, files: int, parallel: int, job: IndexJob) -> Cost:
        work = self._work(parallel)
        calls, requests, memory, start = self.calls, len(self.database.seen), resident(), time.monotonic()
        run_to_the_end(work, job)
        seconds = time.monotonic() - start
        grown = resident() - memory
        return Cost(what, parallel, files, seconds, self.calls - calls, len(self.database.seen) - requests, grown)

    def _work(self, parallel: int) -> Work:
        config = self.runtime.config
        jobs = config.jobs.rag_index.model_copy(update={"parallel_requests": parallel})
        config = config.model_copy(update={"jobs": config.jobs.model_copy(update={"rag_index": jobs})})
        runtime = Runtime(config)
        runtime.__dict__["session"] = self.runtime.session  # counted
        return Work(runtime, NoQueue())

    def _count(self, *_: Any, **__: Any) -> None:
        self.calls += 1


def run_to_the_end(work: Work, job: IndexJob) -> None:
    work.ledger.add(job)
    while work.ledger.get(job):
        run_walk(work, job) if isinstance(job, WalkJob) else run_feed(work, job)  # type: ignore[arg-type]


def write_files(local: Path, path: str, count: int) -> None:
    for number in range(count):
        folder = local / f"{number // FOLDER_SIZE:04}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number:06}.txt").write_text(f"File {number} of {path} is about the number {number}.")


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def big_upload(stack: Stack) -> tuple[int, float]:
    """By how many bytes the index worker grew while it uploaded a file of BIG bytes, and the seconds that it took."""
    runtime, sandbox = runtime_of(stack), Sandbox(stack.url("openrag"))
    instance = runtime.instances.add("big.localhost")
    drive = Drive(runtime, instance)
    drive.editor.prepare()
    drive.assistant(drive.folder("/Big"))
    drive.file("/Big/small.txt", "The worker has done this once before it is measured.")
    sandbox.set(index_delay=3600)  # what is measured is the upload
    work = Work(runtime, CeleryQueue(create_app(runtime.config)))
    for _ in range(2):  # the second upload is the one that is measured
        before, start = peak(stack, anew=True), time.monotonic()
        work.feed(instance.domain)
        _wait_for_upload(sandbox)
        took, grown = time.monotonic() - start, peak(stack) - before
        drive.editor.add_file(drive.folder("/Big"), f"{took}.txt", Zeros(BIG))
    return grown, took


def _wait_for_upload(sandbox: Sandbox) -> None:
    deadline = time.monotonic() + 300
    while not any(call["status"] == 201 for call in sandbox.calls("/file/", "POST")):
        assert time.monotonic() < deadline, "the file is not uploaded"
        time.sleep(0.1)
    sandbox.clear_calls()


def peak(stack: Stack, anew: bool = False) -> int:
    """The most bytes that the index worker had in memory, since it was asked for `anew`."""
    process = Path(f"/proc/{stack.processes['worker-index'].pid}")
    if anew:
        (process / "clear_refs").write_text("5")
    return int(re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())[1]) * 1024  # type: ignore[index]


class Zeros:
    """A file of so many bytes."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, size: int, /) -> bytes:
        piece = bytes(min(size, self.left))
        self.left -= len(piece)
        return piece


def table(costs: list[Cost]) -> str:
    lines = ["            side by side   files      time    per file   openRAG calls   database requests     memory"]
    for cost in costs:
        each = cost.seconds / cost.files * 1000
        lines.append(
            f"{cost.what:<12}{cost.parallel:>12}{cost.files:>8}{cost.seconds:>8.2f} s{each:>9.2f} ms"
            f"{cost.calls:>16}{cost.requests:>20}{cost.memory / 2**20:>+7.1f} MiB"
        )
    return "\n".join(lines)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as data, proxy(lambda: stack.url("couchdb")) as couch:
        stack = Stack(
            Path(data), services=[service.name for service in SERVERS], config={"couchdb": {"url": couch.url}}
        )
        with stack:
            bench = Bench(stack, couch)
            few, many = bench.fill("/Few", FEW), bench.fill("/Many", count)
            bench.index(count + FEW)
            costs = [bench.feed(1), bench.feed(PARALLEL), bench.walk(few, FEW, 1), bench.walk(few, FEW, PARALLEL)]
            costs.append(bench.walk(many, count, PARALLEL))
    print(table(costs))
    with tempfile.TemporaryDirectory() as data, Stack(Path(data)) as stack:
        grown, took = big_upload(stack)
    print(f"A worker uploads {BIG >> 20} MiB in {took:.1f} s, its memory grows by {grown / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
