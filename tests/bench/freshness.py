"""How soon a new file is answered from, and a deleted one is not any more, with nobody calling anything.

`python -m tests.bench.freshness [FILES] [INSTANCES]` starts a stack of its own with a debounce of a second, and
measures that alone, during a walk of FILES files (10 000), and with INSTANCES instances (200) of which 10 are busy.
"""

import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil
import requests

from deploy.local.stack import Stack
from ragcore.documents import FILES, Directory
from ragcore.files.importing import Import
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.runtime import Runtime
from ragcore.triggers.documents import EVENT, Trigger, Triggers
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.bench.clock import median
from tests.bench.index_speed import write_files
from tests.bench.people import runtime_of
from tests.support.files import Drive
from tests.support.sandbox import Sandbox

DEBOUNCE = 1.0  # seconds
TIMES = 5
BUSY = 10
IDLE = 20.0  # seconds


class Owner:
    """An instance with a knowledge base folder and the triggers of its index."""

    def __init__(self, stack: Stack, runtime: Runtime, domain: str) -> None:
        self._openrag = stack.url("openrag")
        self._key = {"Authorization": f"Bearer {runtime.config.rag['default'].api_key.get_secret_value()}"}
        self.runtime = runtime
        self.instance = runtime.instances.add(domain)
        self.drive = Drive(runtime, self.instance)
        self.drive.editor.prepare()
        triggers = Triggers(runtime.store, self.instance)
        message = {"doctype": FILES}
        triggers.create(Trigger(EVENT, FILES, "rag-index", message, f"{DEBOUNCE:g}s"))
        triggers.create(Trigger(EVENT, "io.cozy.ai.chat.assistants", "rag-index", message))
        self.folder: Directory = self.drive.folder("/Papers")
        self.drive.assistant(self.folder)

    def is_found(self, word: str) -> bool:
        url = f"{self._openrag}/search/partition/{self.instance.domain}"
        response = requests.get(url, params={"text": word, "top_k": 3}, headers=self._key, timeout=10)
        return response.ok and word in response.text

    def times(self) -> tuple[float, float]:
        """Seconds until a new file is found, and until it is not found any more."""
        word = f"w{uuid.uuid4().hex[:12]}"
        began = time.monotonic()
        file = self.drive.file(f"/Papers/{word}.txt", f"The word of this file is {word}.")
        found = wait_for(lambda: self.is_found(word)) - began
        began = time.monotonic()
        self.drive.editor.trash(file)
        return found, wait_for(lambda: not self.is_found(word)) - began

    def time_to_job(self) -> float:
        """Seconds from a change to the start of its job."""
        before = {doc["_id"] for doc in self._jobs()}
        began = time.time()
        self.drive.file(f"/Papers/{uuid.uuid4().hex}.txt", uuid.uuid4().hex)
        wait_for(lambda: any(doc["_id"] not in before and doc.get("started_at") for doc in self._jobs()))
        return time.time() - began

    def _jobs(self) -> list[dict]:
        return list(self.runtime.store.all(self.instance, JOBS))


def wait_for(condition: Callable[[], object], within: float = 60.0) -> float:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.05)
    return time.monotonic()


def show(what: str, times: list[tuple[float, float]]) -> None:
    for name, values in zip(("found", "not found"), zip(*times, strict=True), strict=True):
        print(f"{what:<28}{name:<10} median {median(values):5.2f} s   longest {max(values):5.2f} s")


def during_a_walk(owner: Owner, sandbox: Sandbox, files: int) -> list[tuple[float, float]]:
    """The files are indexed before; openRAG takes 20 ms a call, so that the walk is there all the time."""
    with tempfile.TemporaryDirectory() as local:
        write_files(Path(local), "many", files)
        run = Import(owner.drive.editor, local, "/Papers/Many", print)
        run.plan()
        run.apply(lambda units: None)
    work = Work(owner.runtime, CeleryQueue(create_app(owner.runtime.config)))
    time.sleep(DEBOUNCE * 2)
    wait_for(lambda: not list(work.ledger.all()), within=900)
    sandbox.set(call_delay=0.02)
    work.walk(owner.instance.domain, owner.folder.id)
    times = [owner.times() for _ in range(TIMES)]
    sandbox.set(call_delay=0)
    return times


def with_many(stack: Stack, runtime: Runtime, count: int) -> None:
    owners = [Owner(stack, runtime, f"i{number}.localhost") for number in range(count)]
    work = Work(runtime, CeleryQueue(create_app(runtime.config)))
    wait_for(lambda: not list(work.ledger.all()), within=300)
    time.sleep(5)
    watcher = psutil.Process(stack.processes["watch"].pid)
    watcher.cpu_percent()
    time.sleep(IDLE)
    print(f"{count} instances, idle: the watcher uses {watcher.cpu_percent():.1f} % of a core, "
          f"{watcher.memory_info().rss / 2**20:.0f} MiB")  # fmt: skip
    over = threading.Event()

    def keep_busy(owner: Owner) -> None:
        while not over.wait(0.5):
            owner.drive.file(f"/Papers/{uuid.uuid4().hex}.txt", uuid.uuid4().hex)

    busy = [threading.Thread(target=keep_busy, args=(owner,)) for owner in owners[:BUSY]]
    for thread in busy:
        thread.start()
    times = [owner.time_to_job() - DEBOUNCE for owner in owners[-TIMES:]]
    over.set()
    for thread in busy:
        thread.join()
    print(f"{BUSY} of them busy: a change starts its job {median(times):.2f} s after its debounce, "
          f"longest {max(times):.2f} s")  # fmt: skip


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    instances = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as data, Stack(Path(data)) as stack:
        runtime = runtime_of(stack)
        owner = Owner(stack, runtime, "fresh.localhost")
        owner.times()
        show("alone", [owner.times() for _ in range(TIMES)])
        show(f"during a walk of {files}", during_a_walk(owner, Sandbox(stack.url("openrag")), files))
        with_many(stack, runtime, instances)


if __name__ == "__main__":
    main()
