"""Documents over the real document database."""

from typing import Any

import pytest

from ragcore.errors import Conflict, NotFound
from ragcore.events import Event
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL, Store, database_name
from ragcore.wire import Answer, Session

TYPE = "io.cozy.tests"


@pytest.fixture
def told() -> list[Event]:
    return []


@pytest.fixture
def store(runtime: Runtime, told: list[Event]) -> Store:
    return Store(runtime.config.couchdb.url, lambda domain, event: told.append(event))


def test_a_document_is_made_changed_and_deleted(store: Store, instance: Instance, told: list[Event]) -> None:
    made = store.save(instance, TYPE, {"n": 1})
    changed = store.save(instance, TYPE, {**made, "n": 2})
    assert store.get(instance, TYPE, made["_id"])["n"] == 2
    store.delete(instance, TYPE, changed)
    with pytest.raises(NotFound):
        store.get(instance, TYPE, made["_id"])
    assert [(event.verb, event.id, event.doc["_rev"][:2]) for event in told] == [
        ("CREATED", made["_id"], "1-"),
        ("UPDATED", made["_id"], "2-"),
        ("DELETED", made["_id"], "3-"),
    ]


@pytest.mark.parametrize("doc_id", ["a/b", "a?b", "a#b", "a b", "été", "a%2Fb", "a&b=c", "😀", "a+b"])
def test_any_id_is_quoted(store: Store, instance: Instance, doc_id: str) -> None:
    made = store.save(instance, TYPE, {"_id": doc_id})
    assert store.get(instance, TYPE, doc_id)["_rev"] == made["_rev"]
    assert doc_id in store.get_many(instance, TYPE, [doc_id])
    store.delete(instance, TYPE, made)


def test_a_missing_database_is_no_document(store: Store, instance: Instance) -> None:
    with pytest.raises(NotFound):
        store.get(instance, "io.cozy.nothing", "x")
    assert list(store.all(instance, "io.cozy.nothing")) == []
    assert store.find(instance, "io.cozy.nothing", {"a": 1}) == []
    assert store.get_many(instance, "io.cozy.nothing", ["x"]) == {}
    with pytest.raises(NotFound):
        store.changes(instance, "io.cozy.nothing", 0, 10)


def test_a_stale_revision_is_a_conflict(store: Store, instance: Instance, told: list[Event]) -> None:
    made = store.save(instance, TYPE, {"n": 1})
    store.save(instance, TYPE, {**made, "n": 2})
    told.clear()
    with pytest.raises(Conflict):
        store.save(instance, TYPE, {**made, "n": 3})
    with pytest.raises(Conflict):
        store.delete(instance, TYPE, made)
    assert told == []


def test_an_update_is_made_on_a_fresh_read(store: Store, instance: Instance) -> None:
    made = store.save(instance, TYPE, {"n": 0})
    interrupted = iter([True, True, False])

    def change(doc):
        if next(interrupted):
            store.save(instance, TYPE, {**doc, "other": doc["n"]})
        return {**doc, "n": doc["n"] + 1}

    assert store.update(instance, TYPE, made["_id"], change)["n"] == 1
    assert store.get(instance, TYPE, made["_id"])["other"] == 0


def test_an_update_gives_up_after_three_attempts(store: Store, instance: Instance) -> None:
    made = store.save(instance, TYPE, {"n": 0})
    calls = []

    def change(doc):
        calls.append(doc)
        store.save(instance, TYPE, {**doc, "other": len(calls)})
        return {**doc, "n": 1}

    with pytest.raises(Conflict):
        store.update(instance, TYPE, made["_id"], change)
    assert len(calls) == 3


def test_many_documents_in_one_request(store: Store, instance: Instance, told: list[Event]) -> None:
    saved = store.save_all(instance, TYPE, [{"_id": f"d{n}", "n": n} for n in range(50)])
    assert all(doc["_rev"].startswith("1-") for doc in saved)
    assert len(told) == 50
    with pytest.raises(Conflict):
        store.save_all(instance, TYPE, [{"_id": "d1", "n": 0}, {"_id": "new"}])
    assert "new" in store.get_many(instance, TYPE, ["new"])


def test_all_documents_a_page_at_a_time(store: Store, instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcore.store.documents.PAGE", 7)
    ids = sorted(f"d{n:02}" for n in range(20))
    store.save_all(instance, TYPE, [{"_id": doc_id} for doc_id in ids])
    store.add_index(instance, TYPE, "by-n", ["n"])
    assert [doc["_id"] for doc in store.all(instance, TYPE)] == ids


def test_a_range_of_the_ids(store: Store, instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcore.store.documents.PAGE", 2)
    ids = ["feed:a", "question:a", "question:b", "question:\u00e9", "walk:a", "walk:b"]
    store.save_all(instance, "io.cozy.ranges", [{"_id": doc_id} for doc_id in ids])

    def found(*bounds: str) -> list[str]:
        return [doc["_id"] for doc in store.all(instance, "io.cozy.ranges", *bounds)]

    assert found("question:", "question;") == ids[1:4]
    assert found("", "question:") == ids[:1]
    assert found("question;") == ids[4:]
    assert found("walk:b") == ids[5:]
    assert found("x", "y") == []
    assert list(store.ids(instance, "io.cozy.ranges", "question:", "question;")) == [ids[1:3], ids[3:4]]


def test_ids_are_read_without_their_documents(
    store: Store, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(instance, TYPE, {"_id": "a", "n": 1})
    contents: list[bytes] = []
    request = Session.request

    def noted(session: Session, *args: Any, **more: Any) -> Answer:
        answer = request(session, *args, **more)
        contents.append(answer.content)
        return answer

    monkeypatch.setattr(Session, "request", noted)
    assert list(store.ids(instance, TYPE)) == [["a"]]
    assert b'"doc"' not in contents[-1]
    assert len(list(store.all(instance, TYPE))) == 1
    assert b'"doc"' in contents[-1]


def test_the_changes_feed_in_pages(store: Store, instance: Instance) -> None:
    store.save_all(instance, TYPE, [{"_id": f"d{n}", "n": n} for n in range(5)])
    first = store.changes(instance, TYPE, 0, 3)
    second = store.changes(instance, TYPE, first.last_seq, 3)
    third = store.changes(instance, TYPE, second.last_seq, 3)
    assert (len(first.documents), first.more) == (3, True)
    assert (len(second.documents), second.more) == (2, False)
    assert third.documents == []
    assert {doc["n"] for doc in first.documents + second.documents} == set(range(5))
    assert store.changes(instance, TYPE, 0, 5).more is False


def test_a_view_that_counts_is_made_when_it_is_asked_for(store: Store, instance: Instance) -> None:
    def counts(limit: int = 10) -> list[tuple[str, int]]:
        return store.counts(instance, TYPE, "by-kind", "function (doc) { emit(doc.kind); }", limit)

    assert counts() == []
    assert not [name for name in store.server.databases() if name == database_name(instance.prefix, TYPE)]
    store.save_all(instance, TYPE, [{"kind": kind} for kind in "abcab"])
    assert counts() == [("a", 2), ("b", 2), ("c", 1)]
    store.save(instance, TYPE, {"kind": "c"})
    assert counts() == [("a", 2), ("b", 2), ("c", 2)]
    assert counts(limit=1) == [("a", 2)]


def test_local_documents_are_in_no_feed(store: Store, instance: Instance, told: list[Event]) -> None:
    store.save(instance, TYPE, {"_id": "d"})
    told.clear()
    made = store.save_local(instance, TYPE, "place", {"last_seq": 1})
    store.save_local(instance, TYPE, "place", {"last_seq": 2, "_rev": made["_rev"]})
    assert store.get(instance, TYPE, "_local/place")["last_seq"] == 2
    assert len(store.changes(instance, TYPE, 0, 10).documents) == 1
    assert told == []


def test_what_is_global_is_no_event(store: Store, told: list[Event]) -> None:
    store.delete(GLOBAL, "tests", store.save(GLOBAL, "tests", {"n": 1}))
    assert told == []
