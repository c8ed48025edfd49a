"""The index statuses of a chunk of files."""

from typing import Any

import pytest

from ragcore.documents import STATUSES, File
from ragcore.indexing.status import Callback, Reason, change_of
from ragcore.indexing.statuses import Statuses, duplicates_of
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document, Store


@pytest.fixture
def store(runtime: Runtime) -> Store:
    return runtime.store


def record(store: Store, instance: Instance, callback: Callback) -> None:
    store.update(instance, STATUSES, callback.file_id, change_of(callback))


def file(file_id: str = "f", rev: str = "2-a") -> File:
    return File(file_id, rev, "a.txt", "d", 1, "md5", "text/plain")


def saved(store: Store, instance: Instance, file_id: str = "f") -> Document:
    return {key: value for key, value in store.get_or_new(instance, STATUSES, file_id).items() if key[0] != "_"}


def test_nothing_is_read_or_written_unasked(store: Store, instance: Instance) -> None:
    statuses = Statuses(store, instance, ["f"])
    store.save(instance, STATUSES, {"_id": "f", "duplicateOf": "h"})
    assert statuses.holder("f") == "h"
    before = store.get(instance, STATUSES, "f")
    statuses.save()
    assert store.get(instance, STATUSES, "f") == before


def test_a_file_without_a_status(store: Store, instance: Instance) -> None:
    statuses = Statuses(store, instance, ["f"])
    assert statuses.of("f") == {"_id": "f"}
    assert statuses.holder("f") == ""
    assert not statuses.is_known(file())
    assert not statuses.is_refused(file())


def test_a_refusal_is_of_one_revision(store: Store, instance: Instance) -> None:
    statuses = Statuses(store, instance, ["f"])
    statuses.refuse(file(rev="2-a"), Reason.FORMAT)
    statuses.save()
    found = saved(store, instance)
    assert (found["status"], found["docRev"], found["indexed"]) == ("notsupported", "2-a", False)
    assert found["reason"] == "format"
    later = Statuses(store, instance, ["f"])
    assert later.is_refused(file(rev="2-a"))
    assert not later.is_refused(file(rev="3-b"))
    assert later.is_known(file())


def test_a_refusal_is_written_once_for_each_reason(store: Store, instance: Instance) -> None:
    revisions = []
    for reason in (Reason.FORMAT, Reason.FORMAT, Reason.TOO_LARGE):
        statuses = Statuses(store, instance, ["f"])
        statuses.refuse(file(), reason)
        statuses.save()
        found = store.get(instance, STATUSES, "f")
        revisions.append((found["_rev"][:2], found["reason"]))
    assert revisions == [("1-", "format"), ("1-", "format"), ("2-", "too_large")]


def test_a_reason_is_of_the_refusal_alone(store: Store, instance: Instance) -> None:
    statuses = Statuses(store, instance, ["f", "g"])
    for file_id in ("f", "g"):
        statuses.refuse(file(file_id), Reason.ENCRYPTED)
    statuses.save()
    record(store, instance, Callback("f", "error", "3-b"))
    statuses = Statuses(store, instance, ["g"])
    statuses.remember_duplicate("g", "h")
    statuses.save()
    assert "reason" not in saved(store, instance, "f")
    assert "reason" not in saved(store, instance, "g")


@pytest.mark.parametrize("rev", ["1-a", "2-a"])
def test_what_openrag_says_of_an_upload_meanwhile_stays(store: Store, instance: Instance, rev: str) -> None:
    """The callback of an upload may come before what was said before it is taken back."""
    refused = {"status": "notsupported", "docRev": rev, "reason": "format", "lastErrorDate": "2020-01-01T00:00:00Z"}
    store.save(instance, STATUSES, {"_id": "f", **refused})
    statuses = Statuses(store, instance, ["f"])
    statuses.uploaded(file(rev="2-a"))
    record(store, instance, Callback("f", "notsupported", "2-a"))
    statuses.save()
    found = saved(store, instance)
    assert (found["status"], found["docRev"], "reason" in found) == ("notsupported", "2-a", False)


def test_a_duplicate_is_remembered_and_logged_once(
    store: Store, instance: Instance, caplog: pytest.LogCaptureFixture
) -> None:
    store.save(instance, STATUSES, {"_id": "f", "status": "success", "docRev": "1-a", "indexed": True})
    for _ in range(2):
        statuses = Statuses(store, instance, ["f"])
        statuses.remember_duplicate("f", "h")
        statuses.save()
    assert [record.getMessage() for record in caplog.records] == [
        f"{instance.domain}: file f has the content of file h"
    ]
    expected = {"status": "success", "docRev": "1-a", "indexed": True, "duplicateOf": "h"}
    assert saved(store, instance) == expected
    assert store.get(instance, STATUSES, "f")["_rev"].startswith("2-")


def test_the_files_that_wait_for_the_content_of_others(store: Store, instance: Instance) -> None:
    assert duplicates_of(store, instance, ["h"]) == set()  # before there is a view
    statuses = Statuses(store, instance, ["a", "b", "c"])
    for duplicate, holder in (("a", "h"), ("b", "h"), ("c", "i")):
        statuses.remember_duplicate(duplicate, holder)
    statuses.save()
    assert duplicates_of(store, instance, ["h"]) == {"a", "b"}
    assert duplicates_of(store, instance, ["h", "i", "a"]) == {"a", "b", "c"}
    assert duplicates_of(store, instance, ["unknown"]) == set()
    assert duplicates_of(store, instance, []) == set()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"duplicateOf": "h"}, {}),
        ({"duplicateOf": "h", "status": "success", "docRev": "1-a"}, {"status": "success", "docRev": "1-a"}),
        ({"status": "notsupported", "docRev": "2-a", "indexed": False}, {"indexed": False}),
        ({"status": "notsupported", "docRev": "1-a"}, {"status": "notsupported", "docRev": "1-a"}),
        ({"status": "notsupported", "docRev": "1-a", "reason": "format"}, {}),
        ({"status": "error", "docRev": "2-a"}, {"status": "error", "docRev": "2-a"}),
    ],
)
def test_an_upload_takes_back_what_was_said_against_the_file(
    store: Store, instance: Instance, before: dict[str, Any], after: dict[str, Any]
) -> None:
    store.save(instance, STATUSES, {"_id": "f", **before})
    statuses = Statuses(store, instance, ["f"])
    statuses.uploaded(file(rev="2-a"))
    statuses.save()
    assert saved(store, instance) == after
    assert duplicates_of(store, instance, ["h"]) == set()


def test_a_callback_that_came_meanwhile_is_kept(store: Store, instance: Instance) -> None:
    """It is changed on a fresh read, or stays as it is where it is newer."""
    statuses = Statuses(store, instance, ["f", "g", "n"])
    statuses.remember_duplicate("f", "h")
    statuses.refuse(file("g", "2-a"), Reason.MEDIA)
    statuses.refuse(file("n", "2-a"), Reason.MEDIA)
    for file_id, rev in (("f", "2-a"), ("g", "1-a"), ("n", "3-a")):
        record(store, instance, Callback(file_id, "success", rev))
    statuses.save()
    assert saved(store, instance, "f")["status"] == "success"
    assert saved(store, instance, "f")["duplicateOf"] == "h"
    assert (saved(store, instance, "g")["status"], saved(store, instance, "g")["docRev"]) == ("notsupported", "2-a")
    assert saved(store, instance, "g")["indexed"]
    assert (saved(store, instance, "n")["status"], saved(store, instance, "n")["docRev"]) == ("success", "3-a")
