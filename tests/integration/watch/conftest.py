"""What the tests of the watcher share."""

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local.stack import Stack
from ragcore import config
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.watch.watcher import Watcher


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Redis and a document database for these tests alone: a watcher follows each database that there is."""
    with Stack(tmp_path_factory.mktemp("watched"), services=["redis", "couchdb"]) as running:
        yield running


@pytest.fixture(scope="package")
def runtime(stack: Stack) -> Runtime:
    return Runtime(config.load(path=Path(stack.config_path)))


class Recorded:
    """Triggers that fire for one doctype, and note what they were asked for."""

    def __init__(self, doctype: str, delay: float = 0.0) -> None:
        self.doctype = doctype
        self.delay = delay
        self.seen: list[tuple[str, str]] = []
        self.fired: list[tuple[str, str]] = []

    def matching(self, instance: Instance, verb: str, doctype: str, doc: Document) -> Iterable[tuple[str, float]]:
        if doctype == self.doctype:
            self.seen.append((verb, doc["_id"]))
        return self.of_doctype(instance, doctype)

    def of_doctype(self, instance: Instance, doctype: str) -> Iterable[tuple[str, float]]:
        return [("t1", self.delay)] if doctype == self.doctype else []

    def fire(self, domain: str, trigger_id: str) -> None:
        self.fired.append((domain, trigger_id))


@pytest.fixture
def apart(runtime: Runtime) -> Iterator[Runtime]:
    """A runtime whose Redis is another database of the same server, emptied before."""
    redis = runtime.config.redis.model_copy(update={"url": runtime.config.redis.url.rpartition("/")[0] + "/1"})
    made = Runtime(runtime.config.model_copy(update={"redis": redis}))
    made.redis.flushdb()
    yield made
    made.publisher.flush()


@pytest.fixture
def doctype() -> str:
    return f"io.cozy.t{uuid.uuid4().hex[:8]}"


@pytest.fixture
def triggers(doctype: str) -> Recorded:
    return Recorded(doctype)


@pytest.fixture
def watching(apart: Runtime) -> Callable:
    """Runs a watcher inside the context."""

    @contextmanager
    def run(triggers: Recorded) -> Iterator[Watcher]:
        watcher = Watcher(apart, triggers)
        thread = threading.Thread(target=watcher.run, daemon=True)
        thread.start()
        try:
            yield watcher
        finally:
            watcher.stop()
            thread.join()

    return run
