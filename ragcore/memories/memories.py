"""The memories of an instance: written through the gate, reviewed, found."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ragcore import units
from ragcore.config import Config
from ragcore.documents import MEMORIES
from ragcore.errors import Conflict, NotFound, RagcoreError
from ragcore.instances import Instance
from ragcore.memories.duplicates import near_duplicate, same_text
from ragcore.memories.gate import gate, is_reviewed
from ragcore.memories.memory import (
    ACTIVE,
    PENDING,
    REJECTED,
    STATUSES,
    Memory,
    checked_confidence,
    checked_text,
)
from ragcore.memories.ranking import rank
from ragcore.store import Document, Store

MOST = 1000  # memories of a status that are read, the newest
BY_STATUS = "by-status-and-updated-at"
FIELDS = ["status", "cozyMetadata.updatedAt"]


@dataclass(frozen=True)
class Memories:
    store: Store
    config: Config
    instance: Instance

    def remember(self, text: Any, confidence: Any, source: Document, *, asked: bool) -> Memory:
        """Writes a memory through the gate; what says the same as one that is there already updates that one.

        `asked` is `asks_to_remember` of the user's own message. Raises Invalid, Conflict.
        """
        text, confidence = checked_text(text), checked_confidence(confidence)
        status = gate(confidence, asked=asked, review=is_reviewed(self.config, self.instance))
        if status == PENDING and (known := self._settled(text, asked)):
            return known
        new = Memory(text, confidence, status, source)
        twin = self._twin(new)
        return (twin and self._update(twin, new)) or self._one_of(self._saved(new))

    def _settled(self, text: str, asked: bool) -> Memory | None:
        """One of the same text about which nothing is left to review: it is active, or the person wanted none of it."""
        rejected = [] if asked else self.of_status(REJECTED)
        return same_text(text, [*self.of_status(ACTIVE), *rejected])

    def _twin(self, new: Memory) -> Memory | None:
        """What waits for a review changes nothing that is active: only approved it does."""
        active = near_duplicate(new.text, self.of_status(ACTIVE)) if new.status == ACTIVE else None
        return active or near_duplicate(new.text, self.of_status(PENDING))

    def get(self, memory_id: str) -> Memory:
        """Raises NotFound."""
        return Memory.from_document(self.store.get(self.instance, MEMORIES, memory_id))

    def of_status(self, status: str) -> list[Memory]:
        """The newest first."""
        found = self.store.find_in_order(
            self.instance, MEMORIES, {"status": status}, index=BY_STATUS, fields=FIELDS, order="desc", limit=MOST
        )
        return [Memory.from_document(doc) for doc in found]

    def all(self) -> list[Memory]:
        """The newest first."""
        found = [memory for status in STATUSES for memory in self.of_status(status)]
        return sorted(found, key=lambda memory: memory.updated_at, reverse=True)

    def ranked(self, question: str, most: int) -> list[tuple[Memory, float]]:
        """The active ones that fit a question, with their scores, the best first."""
        return rank(question, self.of_status(ACTIVE), most)

    def approve(self, memory_id: str) -> Memory:
        """The active memory: one that is active already, when this one says nearly the same. Raises NotFound."""
        memory = self.get(memory_id)
        if memory.status == ACTIVE:
            return memory
        # approved twice at once it may be active by now: it is no duplicate of itself
        twin = near_duplicate(memory.text, (other for other in self.of_status(ACTIVE) if other.id != memory_id))
        updated = self._update(twin, replace(memory, status=ACTIVE)) if twin else None
        if updated is None:
            return self._one_of(self._change(memory_id, status=ACTIVE))
        self.delete(memory_id)
        return updated

    def reject(self, memory_id: str) -> Memory:
        """Raises NotFound."""
        return self._change(memory_id, status=REJECTED)

    def rewrite(self, memory_id: str, text: Any) -> Memory:
        """In the person's own words. Raises Invalid, NotFound."""
        return self._change(memory_id, text=checked_text(text))

    def delete(self, memory_id: str) -> None:
        """Raises NotFound, Conflict."""
        memory = self.get(memory_id)
        self.store.delete(self.instance, MEMORIES, {"_id": memory.id, "_rev": memory.rev})

    def _saved(self, memory: Memory) -> Memory:
        return Memory.from_document(self.store.save(self.instance, MEMORIES, memory.attributes()))

    def _one_of(self, written: Memory) -> Memory:
        """Of near-duplicates that were written at the same time the oldest stays: who writes last sees all of them."""
        try:
            there = self.of_status(written.status)
        except RagcoreError:  # it is written all the same
            return written
        alike = [memory for memory in there if near_duplicate(written.text, [memory])]
        first, *others = sorted(alike, key=lambda memory: (memory.created_at, memory.id)) or [written]
        for other in others:
            with suppress(Conflict, NotFound):  # changed since, or gone
                self.store.delete(self.instance, MEMORIES, {"_id": other.id, "_rev": other.rev})
        return first

    def _update(self, twin: Memory, new: Memory) -> Memory | None:
        """None when the person has decided on it meanwhile, or it is gone."""

        def change(doc: Document) -> Document | None:
            if doc.get("status") != twin.status:
                return None
            return doc | replace(new, created_at=twin.created_at, updated_at=units.now()).attributes()

        saved = self.store.update(self.instance, MEMORIES, twin.id, change)
        return Memory.from_document(saved) if saved else None

    def _change(self, memory_id: str, **fields: str) -> Memory:
        def change(doc: Document) -> Document:
            if "_rev" not in doc:
                raise NotFound(f"there is no memory {memory_id}")
            memory = replace(Memory.from_document(doc), updated_at=units.now(), **fields)  # type: ignore[arg-type]
            return doc | memory.attributes()

        saved = self.store.update(self.instance, MEMORIES, memory_id, change)
        assert saved is not None  # noqa: S101  (the change gives a document)
        return Memory.from_document(saved)
