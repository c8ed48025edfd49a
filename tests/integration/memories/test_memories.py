"""Memories through the gate, into the database and out of it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from ragcore.documents import MEMORIES
from ragcore.errors import Invalid, NotFound
from ragcore.instances import Instance
from ragcore.memories import Memories, Memory
from ragcore.runtime import Runtime

TALK = {"conversationId": "c", "messageId": "m"}


@pytest.fixture
def memories(runtime: Runtime, instance: Instance) -> Memories:
    return Memories(runtime.store, runtime.config, instance)


def remember(memories: Memories, text: str, confidence: float = 0.9, asked: bool = True) -> Memory:
    return memories.remember(text, confidence, TALK, asked=asked)


def texts(memories: Memories, status: str) -> list[str]:
    return [memory.text for memory in memories.of_status(status)]


def test_a_memory_is_a_document(memories: Memories, runtime: Runtime, instance: Instance) -> None:
    memory = remember(memories, " Ada lives in Oslo.\n")
    doc = runtime.store.get(instance, MEMORIES, memory.id)
    dates = doc.pop("cozyMetadata")
    assert dates["createdAt"] == dates["updatedAt"] == memory.created_at
    assert (doc.pop("_id"), doc.pop("_rev")) == (memory.id, memory.rev)
    assert doc == {"text": "Ada lives in Oslo.", "confidence": 0.9, "status": "active", "source": TALK}
    assert memories.get(memory.id) == memory


def test_nothing_is_remembered_yet(memories: Memories) -> None:
    assert memories.all() == memories.ranked("Ada", 4) == []
    with pytest.raises(NotFound):
        memories.get("x")


@pytest.mark.parametrize(
    ("confidence", "asked", "status"), [(0.8, True, "active"), (0.7, True, "pending"), (1, False, "pending")]
)
def test_the_gate(memories: Memories, confidence: float, asked: bool, status: str) -> None:
    assert remember(memories, "Ada lives in Oslo.", confidence, asked).status == status
    assert texts(memories, status) == ["Ada lives in Oslo."]


def test_in_review_mode_all_are_pending(runtime: Runtime, instance: Instance) -> None:
    runtime.instances.set_flags(instance.domain, {"ai.memories.review": True})
    memories = Memories(runtime.store, runtime.config, runtime.instances.get(instance.domain))
    assert remember(memories, "Ada lives in Oslo.", 1).status == "pending"


@pytest.mark.parametrize("fields", [("", 0.9), ("Ada", 90), ("Ada", None), (None, 1)])
def test_what_is_no_memory(memories: Memories, fields: tuple[Any, Any]) -> None:
    with pytest.raises(Invalid):
        memories.remember(*fields, {}, asked=True)
    assert memories.all() == []


def test_a_near_duplicate_updates_the_active_one(memories: Memories) -> None:
    first = remember(memories, "The flat in Lyon is let to Paul")
    other = remember(memories, "The boiler is serviced each May")
    again = remember(memories, "The flat in Lyon is let to Paul now", 1)
    assert (again.id, again.text, again.confidence) == (first.id, "The flat in Lyon is let to Paul now", 1)
    assert again.created_at == first.created_at < again.updated_at
    assert [memory.id for memory in memories.of_status("active")] == [first.id, other.id]  # the newest first


def test_what_is_not_asked_for_changes_no_active_one(memories: Memories) -> None:
    active = remember(memories, "The flat in Lyon is let to Paul")
    pending = remember(memories, "The flat in Lyon is let to Paul now", 1, asked=False)
    assert (pending.status, pending.id != active.id) == ("pending", True)
    assert memories.get(active.id) == active
    assert remember(memories, "the flat in  LYON is let to Paul", 1, asked=False) == active  # nothing new


def test_what_waits_is_updated_too(memories: Memories) -> None:
    """No text fills the inbox by saying the same again; who asks for what waits there approves of it."""
    first = remember(memories, "Ada lives in Oslo", asked=False)
    assert remember(memories, "Ada lives in Oslo!", asked=False).id == first.id
    assert texts(memories, "pending") == ["Ada lives in Oslo!"]
    assert remember(memories, "Ada lives in Oslo.").id == first.id
    assert (texts(memories, "pending"), texts(memories, "active")) == ([], ["Ada lives in Oslo."])


def test_what_was_rejected_comes_back_only_when_it_is_asked_for(memories: Memories) -> None:
    rejected = memories.reject(remember(memories, "Ada lives in Oslo", asked=False).id)
    assert remember(memories, "ada lives in oslo", 1, asked=False) == rejected
    assert remember(memories, "Ada lives in Oslo", 0.5).status == "pending"
    assert remember(memories, "Ada lives in Oslo", 1).status == "active"


def test_a_memory_that_is_decided_on_meanwhile_stays(memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    first = remember(memories, "Ada lives in Oslo")
    found, of_status = iter([memories.of_status("active")]), Memories.of_status
    memories.reject(first.id)
    monkeypatch.setattr(Memories, "of_status", lambda of, status: next(found, None) or of_status(of, status))
    assert remember(memories, "Ada lives in Oslo").id != first.id
    assert memories.get(first.id).status == "rejected"


def test_approve(memories: Memories) -> None:
    pending = remember(memories, "Ada lives in Oslo", asked=False)
    approved = memories.approve(pending.id)
    assert (approved.id, approved.status, approved.text) == (pending.id, "active", pending.text)
    assert memories.approve(pending.id) == approved


def test_one_that_is_approved_twice_at_once_stays(memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    pending = remember(memories, "Ada lives in Oslo", asked=False)
    memories.approve(pending.id)
    monkeypatch.setattr(Memories, "get", lambda *_: pending)
    memories.approve(pending.id)
    assert texts(memories, "active") == ["Ada lives in Oslo"]


def test_one_that_is_approved_updates_its_near_duplicate(memories: Memories) -> None:
    active = remember(memories, "The flat in Lyon is let to Paul")
    pending = remember(memories, "The flat in Lyon is let to Paul now", asked=False)
    approved = memories.approve(pending.id)
    assert (approved.id, approved.text, approved.status) == (active.id, pending.text, "active")
    assert [memory.id for memory in memories.all()] == [active.id]


def test_reject_and_rewrite_and_delete(memories: Memories) -> None:
    memory = remember(memories, "Ada lives in Oslo")
    assert memories.rewrite(memory.id, " Ada lives in Bergen ").text == "Ada lives in Bergen"
    assert texts(memories, "active") == ["Ada lives in Bergen"]
    assert memories.reject(memory.id).status == "rejected"
    assert texts(memories, "active") == []
    memories.delete(memory.id)
    assert memories.all() == []
    for change in (memories.approve, memories.reject, memories.delete, lambda it: memories.rewrite(it, "x")):
        with pytest.raises(NotFound):
            change(memory.id)


def test_active_ones_alone_are_ranked(memories: Memories) -> None:
    remember(memories, "Ada lives in Oslo")
    remember(memories, "Ada's sister lives in Bergen")
    remember(memories, "Ada has two cats", asked=False)
    memories.reject(remember(memories, "Ada likes tea").id)
    ranked = memories.ranked("Where does Ada's sister live?", 4)
    assert [memory.text for memory, _ in ranked] == ["Ada's sister lives in Bergen", "Ada lives in Oslo"]
    assert len(memories.ranked("Ada", 1)) == 1


def test_of_many_the_newest_thousand_count(memories: Memories, runtime: Runtime, instance: Instance) -> None:
    def doc(n: int) -> dict[str, Any]:
        date = f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z"
        return Memory(f"Meter {n}", 1.0, "active", created_at=date).attributes()

    runtime.store.save_all(instance, MEMORIES, [doc(n) for n in range(1010)])
    found = memories.of_status("active")
    assert (len(found), found[0].text, found[-1].text) == (1000, "Meter 1009", "Meter 10")
    assert memories.ranked("meter 1009", 4)[0][0].text == "Meter 1009"


def at_once(*calls: Callable[[], Memory]) -> list[Memory]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [done.result() for done in [pool.submit(call) for call in calls]]


def wait_before(monkeypatch: pytest.MonkeyPatch, name: str, times: int) -> None:
    """All have come so far before any of them does this."""
    barrier, write = Barrier(times), getattr(Memories, name)

    def written(*args: Any, **fields: Any) -> Any:
        barrier.wait(20)
        return write(*args, **fields)

    monkeypatch.setattr(Memories, name, written)


def test_what_is_remembered_at_once_is_one_memory(memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_before(monkeypatch, "_saved", 4)
    wait_before(monkeypatch, "_one_of", 4)
    at_once(*(lambda: remember(memories, "Ada lives in Oslo.") for _ in range(4)))
    assert texts(memories, "active") == ["Ada lives in Oslo."]


def test_what_is_approved_at_once_is_one_memory(memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    attributes = remember(memories, "Ada lives in Oslo.", 0.5).attributes()
    memories.store.save(memories.instance, MEMORIES, {**attributes, "text": "Ada lives in Oslo"})
    wait_before(monkeypatch, "_change", 2)
    wait_before(monkeypatch, "_one_of", 2)
    pending = memories.of_status("pending")
    assert len(pending) == 2
    at_once(*(lambda memory=memory: memories.approve(memory.id) for memory in pending))  # type: ignore[misc]
    assert len(memories.all()) == 1
