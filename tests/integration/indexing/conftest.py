"""The fixtures of the index tests: the files of an instance, and what its workers make of them."""

from collections.abc import Callable, Iterator

import pytest

from ragcore import turns
from ragcore.documents import STATUSES, Directory
from ragcore.indexing import apply
from ragcore.instances import Instance
from ragcore.ledger import Ledger
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.support.between import Between
from tests.support.between import between as between_of
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox


@pytest.fixture
def work(runtime: Runtime) -> Work:
    """What it enqueues is done by the workers of the stack."""
    return Work(runtime, CeleryQueue(create_app(runtime.config)))


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    return Drive(runtime, instance)


@pytest.fixture
def openrag(runtime: Runtime, instance: Instance) -> OpenRag:
    return runtime.openrag(instance)


@pytest.fixture
def indexer(runtime: Runtime, instance: Instance, sandbox: Sandbox, until: Callable) -> Iterator[Indexer]:
    """Executes the index jobs of the instance in the test; openRAG is without faults at first.

    What it leaves undone is owed no more: the stack's own workers would do it beside a later test.
    """
    made = Indexer(runtime, instance, until)
    yield made
    for owed in made.work.ledger.all():
        if owed.domain == instance.domain:
            made.work.ledger.remove(owed)


@pytest.fixture
def folder(drive: Drive, indexer: Indexer) -> Directory:
    """Of an assistant, walked already."""
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    indexer.read_feed(drive.file("/Papers/first.txt", "first"))
    return folder


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short waits between two attempts at one file take no time."""
    monkeypatch.setattr(apply._again, "sleep", lambda seconds: None)


@pytest.fixture
def wake(work: Work, instance: Instance) -> Callable[[], str]:
    """Pushes a feed job, as a trigger would: its id."""
    return lambda: work.feed(instance.domain)


@pytest.fixture
def idle(runtime: Runtime, instance: Instance, until: Callable) -> Callable[[], bool]:
    """Waits until no index job of the instance is owed, and none has the turn any more."""
    ledger = Ledger(runtime.store)

    def is_over() -> bool:
        owed = any(owed.domain == instance.domain for owed in ledger.all())
        return not owed and not runtime.redis.exists(turns.turn_key(instance.domain))

    return lambda: until(is_over)


@pytest.fixture
def indexed(runtime: Runtime, instance: Instance, until: Callable) -> Callable[..., list[Document]]:
    """Waits until openRAG has called back about the current revision of these files."""

    def wait(*files: Document) -> list[Document]:
        def done() -> list[Document] | None:
            statuses = runtime.store.get_many(instance, STATUSES, [file["_id"] for file in files])
            current = [statuses.get(file["_id"], {}).get("docRev") == file["_rev"] for file in files]
            return list(statuses.values()) if all(current) else None

        found: list[Document] = until(done)
        return found

    return wait


@pytest.fixture
def between(runtime: Runtime) -> Iterator[Between]:
    with between_of(lambda: runtime.config.couchdb.url) as server:
        yield server


@pytest.fixture
def work_between(runtime: Runtime, between: Between) -> Work:
    """Of a process that reaches the database through what is in between."""
    couchdb = runtime.config.couchdb.model_copy(update={"url": between.url})
    config = runtime.config.model_copy(update={"couchdb": couchdb})
    return Work(Runtime(config), CeleryQueue(create_app(config)))
