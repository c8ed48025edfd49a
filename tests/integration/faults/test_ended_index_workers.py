"""Index workers that are told to end in the middle of a walk, and of a batch."""

import time
from collections.abc import Callable, Iterator

import pytest
import requests

from deploy.local.process import wait_ready
from deploy.local.stack import Stack
from ragcore.documents import Directory
from ragcore.instances import Instance
from ragcore.ledger import DOCTYPE
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL
from tests.integration.faults.conftest import Start
from tests.support.chaos import Tell, times
from tests.support.files import Drive
from tests.support.sandbox import Sandbox
from tests.support.workers import index_worker

FILES = times(60, 300)
UPLOADS = "/file/[0-9a-f]+$"


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api") as stack:
        yield stack


@pytest.fixture
def folder(runtime: Runtime, instance: Instance) -> Directory:
    drive = Drive(runtime, instance)
    made = drive.folder("/Papers")
    drive.assistant(made)
    for number in range(FILES):
        drive.file(f"/Papers/{number}.txt", f"paper {number}")
    return made


def enqueue(stack: Stack, instance: Instance, what: str) -> None:
    url = f"{stack.url('admin')}/instances/{instance.domain}/rag/{what}"
    requests.post(url, timeout=10).raise_for_status()


@pytest.mark.parametrize("what", ["reconcile", "reset"])
def test_what_an_index_worker_leaves_when_it_ends_goes_on_in_another(
    own: Stack,
    runtime: Runtime,
    instance: Instance,
    folder: Directory,
    sandbox: Sandbox,
    until: Callable,
    tell: Tell,
    what: str,
) -> None:
    sandbox.set(call_delay=0.2)
    ending, other = index_worker(own, f"{what}-ending"), index_worker(own, f"{what}-other")
    try:
        ending.start()
        enqueue(own, instance, what)
        until(lambda: len(sandbox.calls(UPLOADS, "POST")) > FILES / 10)
        ending.handle.terminate()
        told = time.monotonic()
        other.spawn()
        status = ending.handle.wait(10)
        ended = time.monotonic() - told
        at_end = len(sandbox.calls(UPLOADS, "POST"))
        wait_ready([other])
        until(lambda: not list(runtime.store.all(GLOBAL, DOCTYPE)), within=60)
        openrag = runtime.openrag(instance)
        until(lambda: len(set(openrag.files(folder.id))) == FILES)
    finally:
        for worker in (ending, other):
            worker.kill()
    uploads = len(sandbox.calls(UPLOADS, "POST"))
    figures = {"on openRAG": FILES, "uploads": uploads, "s until it ended": round(ended, 1)}
    under_way = f"a walk of {FILES} files" if what == "reconcile" else f"a batch of {FILES} files"
    tell(under_way, "SIGTERM to its worker", **figures)
    assert status == 0
    assert ended < 5
    assert at_end < FILES
    assert uploads == FILES  # none is sent twice
