"""What openRAG reports of many files of an instance at the same time."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ragcore.documents import FILES, STATUSES
from ragcore.errors import Retryable
from ragcore.indexing.reports import Reports, Unsaved
from ragcore.indexing.status import Callback
from ragcore.indexing.uploads import Uploads
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document, Owner, Store
from tests.support.files import Drive

AtOnce = Callable[..., list[BaseException | None]]


class Held(Store):
    """Its first read of several documents waits until it is told to go on; reads and writes of several are counted."""

    def __init__(self, url: str) -> None:
        super().__init__(url, lambda domain, event: None)
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.calls: list[str] = []
        self.away, self.broken = False, ""

    def get_many(self, owner: Owner, doctype: str, ids: Iterable[str]) -> dict[str, Document]:
        self.calls.append(f"read {doctype}")
        self.begun.set()
        assert self.go_on.wait(10)
        if self.away:
            raise Retryable("away")
        return super().get_many(owner, doctype, ids)

    def save_each(self, owner: Owner, doctype: str, docs: list[Document]) -> list[Document | None]:
        self.calls.append(f"write {doctype}")
        if any(doc["_id"] == self.broken for doc in docs):
            raise ValueError("odd")
        return super().save_each(owner, doctype, docs)


@pytest.fixture
def held(runtime: Runtime) -> Held:
    return Held(runtime.config.couchdb.url)


@pytest.fixture
def reports(held: Held, runtime: Runtime) -> Reports:
    return Reports(held, runtime.redis)


@pytest.fixture
def files(runtime: Runtime, instance: Instance) -> list[Document]:
    drive = Drive(runtime, instance)
    return [drive.file(f"/Papers/{number}.txt", str(number)) for number in range(5)]


@pytest.fixture
def at_once(reports: Reports, held: Held, instance: Instance, until: Callable[..., Any]) -> Iterator[AtOnce]:
    """The first is being saved when all others come, in their order: what each of them is told."""

    def send(*callbacks: Callback) -> list[BaseException | None]:
        sent = [pool.submit(reports.receive, instance, callbacks[0])]
        assert held.begun.wait(10)
        for number, callback in enumerate(callbacks[1:], 1):
            sent.append(pool.submit(reports.receive, instance, callback))
            until(lambda number=number: len(reports._together._waiting[instance.domain]) == number)
        held.go_on.set()
        return [future.exception(10) for future in sent]

    with ThreadPoolExecutor(8) as pool:
        yield send


def test_they_share_their_requests(
    at_once: AtOnce, held: Held, runtime: Runtime, instance: Instance, files: list[Document]
) -> None:
    uploads = Uploads(runtime.redis, instance.domain)
    for file in files:
        with uploads.sending(file["_id"], "digest", "POST"):
            pass
    told = [Callback(file["_id"], "success", "1-a") for file in files]
    assert at_once(*told) == [None] * 5
    once = [f"read {FILES}", f"read {FILES}", f"read {STATUSES}", f"write {STATUSES}"]
    assert held.calls == once * 2
    saved = runtime.store.get_many(instance, STATUSES, [file["_id"] for file in files])
    assert [saved[file["_id"]]["status"] for file in files] == ["success"] * 5
    assert uploads.all() == []


def test_those_of_one_file_are_taken_one_after_the_other(
    at_once: AtOnce, runtime: Runtime, instance: Instance, files: list[Document]
) -> None:
    one, other = (file["_id"] for file in files[:2])
    told = [Callback(other, "success", "1-a"), Callback(one, "success", "10-a"), Callback(one, "error", "10-a")]
    told += [Callback(one, "success", "9-b"), Callback("gone", "success", "1-a")]
    assert at_once(*told) == [None] * 5
    saved = runtime.store.get(instance, STATUSES, one)
    assert (saved["status"], saved["docRev"], saved["indexed"]) == ("error", "10-a", True)
    assert saved["lastSuccessDate"] <= saved["lastErrorDate"]
    assert "gone" not in runtime.store.get_many(instance, STATUSES, ["gone"])


def test_who_cannot_be_saved_is_told(
    at_once: AtOnce, reports: Reports, held: Held, instance: Instance, files: list[Document]
) -> None:
    held.away = True
    told = at_once(*(Callback(file["_id"], "success", "1-a") for file in files))
    assert [type(error) for error in told] == [Unsaved] * 5
    held.away = False
    reports.receive(instance, Callback(files[0]["_id"], "success", "1-a"))


def test_one_that_cannot_be_saved_keeps_no_other_from_it(
    at_once: AtOnce, held: Held, runtime: Runtime, instance: Instance, files: list[Document]
) -> None:
    ids = [file["_id"] for file in files]
    held.broken = ids[2]
    told = at_once(*(Callback(file_id, "success", "1-a") for file_id in ids))
    assert [type(error) for error in told] == [type(None), type(None), ValueError, type(None), type(None)]
    assert runtime.store.get_many(instance, STATUSES, ids).keys() == set(ids) - {ids[2]}


def test_a_status_that_a_client_wrote_odd_is_overwritten(
    reports: Reports, held: Held, runtime: Runtime, instance: Instance, files: list[Document]
) -> None:
    held.go_on.set()
    runtime.store.save(instance, STATUSES, {"_id": files[0]["_id"], "docRev": 5})
    reports.receive(instance, Callback(files[0]["_id"], "success", "1-a"))
    assert runtime.store.get(instance, STATUSES, files[0]["_id"])["docRev"] == "1-a"
