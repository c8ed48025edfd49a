"""Which texts fit a question: BM25, in process (`bm25s`)."""

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

from ragcore.memories.memory import Memory
from ragcore.memories.words import words


def rank(question: str, memories: Sequence[Memory], most: int) -> list[tuple[Memory, float]]:
    """Those that share a word with the question, with their scores, the best first."""
    scored = zip(memories, scores(question, [memory.text for memory in memories]), strict=True)
    fitting = [(memory, score) for memory, score in scored if score > 0]
    return sorted(fitting, key=lambda each: each[1], reverse=True)[:most]


def scores(question: str, texts: Sequence[str]) -> list[float]:
    """Of each text: 0 where it shares no word with the question. Scores of other calls cannot be compared with them."""
    asked = words(question)
    if not asked or not texts:
        return [0.0] * len(texts)
    index = _bm25s().BM25()
    index.index([words(text) or [""] for text in texts], show_progress=False)
    return [float(score) for score in index.get_scores(asked)]


@cache
def _bm25s() -> Any:
    """Imported by who ranks alone: it brings numpy, 20 MiB of each process."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it logs each call, whatever level the process has
    return bm25s
