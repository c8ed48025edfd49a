"""Memories among the passages: ranked with them, numbered and cited like them."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from ragcore.grounded.assemble import MOST, assemble
from ragcore.grounded.cutting import cut, stems_of
from ragcore.memories import ACTIVE, Memories, Memory, scores
from ragcore.openrag import Passage

MEMORY = "memory"  # the `sourceType` of one that is a source
BESIDE_DOCUMENTS = 2  # memories at most, where documents have something


@dataclass(frozen=True)
class Remembered(Passage):
    """A memory as a passage: `file_id` is its id."""

    date: str = ""

    @classmethod
    def of(cls, memory: Memory, stems: set[str]) -> "Remembered":
        """Cut as passages are."""
        return cls(memory.id, cut(memory.text, stems), date=memory.updated_at)


class ActiveMemories:
    """Read once, when they are first asked for."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._found: list[Memory] | None = None
        self._lock = threading.Lock()

    def get(self) -> list[Memory]:
        """Raises Retryable."""
        with self._lock:
            if self._found is None:
                self._found = self._memories.of_status(ACTIVE)
            return self._found


def with_memories(
    found: Sequence[Passage], memories: Sequence[Memory], question: str, most: int = MOST
) -> list[Passage]:
    """The best of both. The passages keep the order that openRAG gave them; BM25 tells where memories come in."""
    passages = assemble(found, question, most)
    if not memories:
        return passages
    stems = stems_of(question)
    candidates = [*passages, *(Remembered.of(memory, stems) for memory in memories)]
    texts = [candidate.content for candidate in candidates]
    weights = dict(zip(texts, scores(question, texts), strict=True))
    fitting = sorted(
        (m for m in candidates[len(passages) :] if weights[m.content] > 0), key=lambda m: -weights[m.content]
    )
    room = most - min(len(passages), most - BESIDE_DOCUMENTS)
    kept = [one for one in _merged(passages, fitting, weights)[:most] if isinstance(one, Remembered)][:room]
    return _merged(assemble(found, question, most - len(kept)), kept, weights)


def _merged(passages: Sequence[Passage], memories: Sequence[Passage], weights: dict[str, float]) -> list[Passage]:
    """Each memory before the first passage that fits less than it."""
    merged, waiting = list[Passage](), list(memories)
    for passage in passages:
        while waiting and weights[waiting[0].content] > weights.get(passage.content, 0.0):
            merged.append(waiting.pop(0))
        merged.append(passage)
    return merged + waiting
