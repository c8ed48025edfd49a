"""Cutting a text into passages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

WORDS = 200
OVERLAP = 40

# A run of characters without a space counts as several words, so that no passage is endless.
_WORD = re.compile(r"\S{1,100}")


@dataclass(frozen=True)
class Page:
    """`number` starts at 1; a format without pages is one page."""

    number: int
    text: str


@dataclass(frozen=True)
class Chunk:
    page: int
    content: str


def cut(pages: list[Page], words: int = WORDS, overlap: int = OVERLAP) -> Iterator[Chunk]:
    """Passages of at most `words` words that never cross a page and share `overlap` words."""
    for page in pages:
        spans = [found.span() for found in _WORD.finditer(page.text)]
        for first in _starts(len(spans), words, overlap):
            last = min(first + words, len(spans)) - 1
            yield Chunk(page.number, page.text[spans[first][0] : spans[last][1]])


def _starts(count: int, words: int, overlap: int) -> Iterator[int]:
    start = 0
    while start < count:
        yield start
        if start + words >= count:
            return
        start += words - overlap
