"""An index follows its folders with nobody calling anything, over real processes."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local.services import PROJECT
from deploy.local.stack import Stack
from ragcore import config
from ragcore.documents import ASSISTANTS, FILES
from ragcore.events import CHAT_EVENTS
from ragcore.instances import Instance
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.openrag import OpenRag
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from ragcore.store import Document, Store
from tests.support.api import Client
from tests.support.files import Drive

MESSAGE = {"doctype": FILES}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One in which things happen by themselves."""
    names = [service.name for service in PROJECT if service.name != "worker-query"]
    with Stack(tmp_path_factory.mktemp("watched"), services=["redis", "couchdb", "openrag", *names]) as running:
        yield running


@pytest.fixture(scope="module")
def runtime(stack: Stack) -> Runtime:
    return Runtime(config.load(path=Path(stack.config_path)))


@pytest.fixture
def client(runtime: Runtime, instance: Instance) -> Client:
    return Client(runtime.config.public_url(instance.domain), instance, "io.cozy.triggers io.cozy.jobs io.cozy.tests")


@pytest.fixture
def trigger(client: Client) -> Callable[..., str]:
    """Makes a trigger over the API: its id."""

    def make(arguments: str, debounce: str = "", **more: object) -> str:
        attributes = {"type": "@event", "arguments": arguments, "worker": "rag-index", "message": MESSAGE, **more}
        if debounce:
            attributes["debounce"] = debounce
        response = client.request("POST", "/jobs/triggers", json={"data": {"attributes": attributes}})
        assert response.status_code == 201, response.text
        made: str = response.json()["data"]["id"]
        return made

    return make


@pytest.fixture
def jobs(runtime: Runtime, instance: Instance) -> Callable[[str], list[Document]]:
    """The jobs of a trigger that are over: one that waits serves for other triggers too."""

    def read(trigger_id: str) -> list[Document]:
        found = [doc for doc in runtime.store.all(instance, JOBS) if doc.get("trigger_id") == trigger_id]
        return [doc for doc in found if doc["state"] in ("done", "errored")]

    return read


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    return Drive(runtime, instance)


@pytest.fixture
def openrag(runtime: Runtime, instance: Instance) -> OpenRag:
    return runtime.openrag(instance)


def test_the_index_follows_its_folder(drive: Drive, openrag: OpenRag, trigger, until: Callable) -> None:
    trigger(FILES, "1s")
    trigger(ASSISTANTS)
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    file = drive.file("/Papers/one.txt", "first")
    until(lambda: (openrag.file_metadata(file["_id"]) or {}).get("doc_rev") == file["_rev"])
    changed = drive.replace(file, "second")
    until(lambda: (openrag.file_metadata(file["_id"]) or {}).get("doc_rev") == changed["_rev"])
    drive.editor.trash(changed)
    until(lambda: openrag.file_metadata(file["_id"]) is None)


def test_the_events_of_a_delay_make_one_job(drive: Drive, trigger, jobs, until: Callable) -> None:
    made = trigger(FILES, "2s")
    for number in range(5):
        drive.file(f"/{number}.txt", str(number))
    assert len(until(lambda: jobs(made))) == 1


def test_a_trigger_fires_for_what_its_rules_say(
    runtime: Runtime, instance: Instance, trigger, jobs, until: Callable
) -> None:
    created, deleted, tagged = trigger("io.cozy.tests:CREATED"), trigger("io.cozy.tests:DELETED"), trigger(
        "io.cozy.tests:UPDATED:blue:tag"
    )  # fmt: skip
    doc = runtime.store.save(instance, "io.cozy.tests", {"tag": "red"})
    until(lambda: jobs(created))
    doc = runtime.store.save(instance, "io.cozy.tests", doc | {"tag": "blue"})
    until(lambda: jobs(tagged))
    assert jobs(deleted) == []
    runtime.store.delete(instance, "io.cozy.tests", doc)
    until(lambda: jobs(deleted))
    assert (len(jobs(created)), len(jobs(tagged))) == (1, 1)


def test_what_others_write_reaches_a_page(runtime: Runtime, instance: Instance, client: Client) -> None:
    foreign = Store(runtime.config.couchdb.url, lambda domain, event: None)
    token = create_token(instance, "access", "test", f"io.cozy.tests {CHAT_EVENTS}")
    runtime.store.save(instance, "io.cozy.tests", {"_id": "mine"})
    with client.socket({"type": "io.cozy.tests"}, token=token) as socket:
        socket.sync()
        foreign.save(instance, "io.cozy.tests", {"_id": "theirs"})
        ids = {"mine"}
        while "theirs" not in ids:
            ids.add(socket.receive()["payload"]["id"])


def test_a_watcher_that_is_killed_misses_nothing(stack: Stack, drive: Drive, trigger, jobs, until: Callable) -> None:
    """What it had to fire, and what was written meanwhile, is fired by the next."""
    made = trigger(FILES, "2s")
    drive.file("/before.txt", "before")
    time.sleep(0.5)  # the delay has begun, or not: both are to be survived
    watcher = stack.processes["watch"]
    watcher.kill()
    watcher.restart()
    assert len(until(lambda: jobs(made), within=30)) == 1
    watcher.kill()
    drive.file("/after.txt", "after")
    watcher.restart()
    until(lambda: len(jobs(made)) == 2, within=30)
