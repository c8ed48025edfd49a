"""Of the passages that were found, those that an answer is made from."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from ragcore.grounded.cutting import cut, share, stems_of
from ragcore.openrag import Passage

MOST = 4  # passages


def merged(lists: Sequence[Sequence[Passage]], question: str) -> list[Passage]:
    """The passages of several searches as of one, best first.

    openRAG ranks within a search only: between them, the words of the question count, then the ranks.
    """
    stems = stems_of(question)
    by_rank = (passage for passage in chain.from_iterable(zip_longest(*lists)) if passage)
    return sorted(by_rank, key=lambda passage: -share(stems, f"{passage.filename} {passage.content}"))


def assemble(found: Sequence[Passage], question: str, most: int = MOST) -> list[Passage]:
    """The best, each cut and none twice, from at least two files where there are two."""
    stems = stems_of(question)
    distinct: dict[tuple[str, str], Passage] = {}
    for passage in found:
        piece = replace(passage, content=cut(passage.content, stems))
        distinct.setdefault((piece.file_id, piece.content), piece)
    pieces = list(distinct.values())
    best = pieces[:most]
    if most > 1 and len({piece.file_id for piece in best}) == 1:
        elsewhere = [piece for piece in pieces[most:] if piece.file_id != best[0].file_id]
        best = [*best[: most - 1], elsewhere[0]] if elsewhere else best
    return best
