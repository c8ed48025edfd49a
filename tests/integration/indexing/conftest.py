"""What the tests of the index workers share."""

from collections.abc import Callable, Iterator

import pytest

from ragcore.indexing import apply
from ragcore.instances import Instance
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox


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
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short waits between two attempts at one file take no time."""
    monkeypatch.setattr(apply._again, "sleep", lambda seconds: None)
