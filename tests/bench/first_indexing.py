"""The first indexing of 1000 small files by an index worker, beside the same uploads by a bare loop of 8 clients.

Both upload the same texts with the same fields, each into a workspace of a partition of its own, and openRAG's
callbacks are taken by the same API process: what the stand-in and the API do for an upload is the same in both.
"""

import json
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from queue import Empty, SimpleQueue

import requests

from deploy.local.services import SERVERS
from deploy.local.stack import Stack
from ragcore.documents import FILES, STATUSES, Directory, File
from ragcore.files.importing import Import
from ragcore.indexing.status import callback_token
from ragcore.indexing.sync import metadata_of
from ragcore.instances import Instance
from ragcore.openrag.names import workspace_of
from ragcore.runtime import Runtime
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.bench.drives import FOLDER_SIZE, PARALLEL, new_drive
from tests.bench.people import runtime_of
from tests.bench.row import Row, at_least_times
from tests.support.files import Drive
from tests.support.sandbox import Sandbox

FILES_EACH = 1000
CALL = 0.1  # seconds that openRAG takes for a call: with so long, no processor is the limit
WITHIN = 300.0  # seconds
SERVICES = (*(service.name for service in SERVERS), "api", "worker-index")


@dataclass(frozen=True)
class Rates:
    """Files per second: to the last upload that was accepted, and until all are told to be indexed."""

    uploaded: float
    indexed: float


@dataclass(frozen=True)
class Bench:
    stack: Stack
    runtime: Runtime
    local: Path

    def product(self, domain: str, count: int) -> Rates:
        """From the job being enqueued, once a folder is given to an assistant. The feed has been read before."""
        instance, folder = self._fill(domain)
        work = Work(self.runtime, CeleryQueue(create_app(self.runtime.config)))
        work.feed(domain)
        wait_for(lambda: not list(work.ledger.all()))
        Drive(self.runtime, instance).assistant(folder)
        began = time.time()
        work.feed(domain)
        return self._rates(instance, count, began)

    def bare(self, domain: str, count: int) -> Rates:
        instance, folder = self._fill(domain)
        openrag = self.runtime.openrag(instance)
        openrag.create_partition()
        openrag.create_workspace(workspace_of(folder.id), folder.name)
        uploads: SimpleQueue[File] = SimpleQueue()
        for doc in self.runtime.store.all(instance, FILES):
            if doc["type"] == "file":
                uploads.put(File.from_document(doc))
        loop = BareLoop(self.stack, self.runtime, instance, folder, self.local, uploads)
        began = time.time()
        loop.run()
        return self._rates(instance, count, began)

    def both(self, domain: str, count: int) -> tuple[Rates, Rates]:
        return self.product(f"product-{domain}", count), self.bare(f"bare-{domain}", count)

    def _fill(self, domain: str) -> tuple[Instance, Directory]:
        instance = new_drive(self.runtime, domain)
        drive = Drive(self.runtime, instance)
        run = Import(drive.editor, str(self.local), "/Papers", print)
        run.plan()
        run.apply(lambda units: None)
        folder = drive.folder("/Papers")
        next(drive.editor.tree.children(folder.id), None)  # the database makes its index at the first question
        return instance, folder

    def _rates(self, instance: Instance, count: int, began: float) -> Rates:
        uploaded = self._last_upload(instance.domain, count)
        told = self._last_status(instance, count)
        ledger = Work(self.runtime, CeleryQueue(create_app(self.runtime.config))).ledger
        wait_for(lambda: not list(ledger.all()))  # nothing of it goes on while the next one is measured
        return Rates(count / (uploaded - began), count / (told - began))

    def _last_upload(self, partition: str, count: int) -> float:
        """When the stand-in took it (Unix time)."""

        def last() -> float:
            with sqlite3.connect(self.stack.data / "openrag" / "sandbox.sqlite3", timeout=60) as database:
                question = "SELECT count(*), max(created_at) FROM tasks WHERE partition = ?"
                taken, at = database.execute(question, (partition,)).fetchone()
            return at if taken == count else 0.0

        return wait_for(last)

    def _last_status(self, instance: Instance, count: int) -> float:
        """When it was told that the last of them is indexed (Unix time)."""
        store = self.runtime.store
        wait_for(lambda: sum(map(len, store.ids(instance, STATUSES))) >= count)
        told = max(doc["lastSuccessDate"] for doc in store.all(instance, STATUSES))
        return datetime.fromisoformat(told).timestamp()


@dataclass(frozen=True)
class BareLoop:
    stack: Stack
    runtime: Runtime
    instance: Instance
    folder: Directory
    local: Path
    uploads: SimpleQueue[File]

    def run(self) -> None:
        clients = [threading.Thread(target=self._client) for _ in range(PARALLEL)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def _client(self) -> None:
        key = self.runtime.config.rag["default"].api_key.get_secret_value()
        with requests.Session() as session:
            session.trust_env = False
            session.headers["Authorization"] = f"Bearer {key}"
            for file in self._left():
                self._upload(session, file)

    def _left(self) -> Iterator[File]:
        while True:
            try:
                yield self.uploads.get_nowait()
            except Empty:
                return

    def _upload(self, session: requests.Session, file: File) -> None:
        fields = {
            "metadata": json.dumps(metadata_of(file)),
            "workspace_ids": json.dumps([workspace_of(self.folder.id)]),
            "callback_url": f"{self.runtime.config.public_url(self.instance.domain)}/ai/index/status",
            "callback_token": callback_token(self.instance, file.id),
        }
        url = f"{self.stack.url('openrag')}/indexer/partition/{self.instance.domain}/file/{file.id}"
        with place_of(self.local, file.name).open("rb") as content:
            response = session.post(url, data=fields, files={"file": (file.name, content, file.mime)}, timeout=60)
        assert response.status_code == 201, response.text


def write_files(local: Path, count: int) -> None:
    for number in range(count):
        place = place_of(local, f"{number:06}.txt")
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"File {number} is about the number {number}.")


def place_of(local: Path, name: str) -> Path:
    return local / f"{int(name.removesuffix('.txt')) // FOLDER_SIZE:04}" / name


def wait_for(condition: Callable[[], float]) -> float:
    deadline = time.monotonic() + WITHIN
    while not (found := condition()):
        assert time.monotonic() < deadline, "it does not come to an end"
        time.sleep(0.1)
    return found


def measure(quick: bool) -> list[Row]:
    count = 200 if quick else FILES_EACH
    with tempfile.TemporaryDirectory() as data, Stack(Path(data) / "stack", services=SERVICES) as stack:
        local = Path(data) / "local"
        local.mkdir()
        write_files(local, count)
        bench = Bench(stack, runtime_of(stack), local)
        at_once = [bench.both(f"{turn}.localhost", count) for turn in range(1 if quick else 2)]
        Sandbox(stack.url("openrag")).set(call_delay=CALL)
        slow = [bench.both("slow.localhost", count)]
    name = f"first indexing of {count} small files"
    slowly = f"the same, openRAG taking {CALL * 1000:.0f} ms for a call"
    return [
        _row(name, [(ours.uploaded, bare.uploaded) for ours, bare in at_once]),
        _row("the same, until all are indexed", [(ours.indexed, bare.indexed) for ours, bare in at_once]),
        _row(slowly, [(ours.uploaded, bare.uploaded) for ours, bare in slow]),
    ]


def _row(name: str, rates: list[tuple[float, float]]) -> Row:
    value, other = (sum(column) / len(rates) for column in zip(*rates, strict=True))
    beside = "the same uploads by a bare loop of 8 clients"
    return Row(name, value, "files/s", beside, other, at_least_times(0.8))
