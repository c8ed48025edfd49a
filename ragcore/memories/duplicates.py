"""Memories that say the same. Rather two that are alike than one that overwrites another's fact."""

from collections.abc import Iterable

from ragcore.memories.memory import Memory
from ragcore.memories.words import unaccented, words

ALIKE = 0.8  # the share of the words of both that they have in common


def near_duplicate(text: str, memories: Iterable[Memory]) -> Memory | None:
    """The most similar of those that are near-duplicates of a text."""
    alike = [(similarity(text, memory.text), memory) for memory in memories]
    found = max(alike, key=lambda each: each[0], default=None)
    return found[1] if found and found[0] >= ALIKE else None


def same_text(text: str, memories: Iterable[Memory]) -> Memory | None:
    """One whose text is this one, but for case, accents and white space."""
    return next((memory for memory in memories if _folded(memory.text) == _folded(text)), None)


def similarity(one: str, other: str) -> float:
    """From 0 to 1: words that both have, of all. With other numbers it is another fact."""
    ours, theirs = set(words(one)), set(words(other))
    if not ours or not theirs:
        return float(_folded(one) == _folded(other))
    if _numbers(ours) != _numbers(theirs):
        return 0.0
    return len(ours & theirs) / len(ours | theirs)


def _numbers(of: set[str]) -> set[str]:
    return {word for word in of if any(char.isdigit() for char in word)}


def _folded(text: str) -> str:
    return " ".join(unaccented(text).split())
