"""Ranked retrieval over the passages of a partition."""

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from deploy.sandbox.database import Database
from deploy.sandbox.errors import ApiError

MAX_WORDS = 64
# A word of the file's name weighs as much as two of the text.
_RANK = "bm25(passages, 1.0, 2.0)"
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"(?<=\w\w)(?:ing|ed|es|s|e)$")

_ENGLISH = """
    a about after all also am an and any are as at be because been before being between both but by can could
    did do does doing down during each few for from further had has have having he her here hers him his how i
    if in into is it its just may me more most must my no nor not of off on once only or other our out over own
    please same shall she should so some such tell than that the their them then there these they this those
    through to too under until up very was we were what when where which while who whom whose why will with
    would you your
"""
_FRENCH = """
    au aux avec ce cela ces cet cette ceux chez comme comment dans de des dois doit donc dont du elle elles en
    entre est et etait etre eu eux fait faire il ils je la le les leur leurs lui ma mais me mes moi mon ne nos
    notre nous on ont ou par pas peut peux plus pour pourquoi qu quand que quel quelle quelles quels qui quoi
    sa sans se sera ses si son sont sous suis sur ta te tes toi ton tous tout toute toutes tres tu un une vos
    votre vous
"""
STOP_WORDS = frozenset([*_ENGLISH.split(), *_FRENCH.split()])


@dataclass(frozen=True)
class Scope:
    """Where to search: the files of `workspace`, or those of `file_ids`, or all of the partition's."""

    partition: str
    workspace: str | None = None
    file_ids: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Passage:
    """`rank` is BM25, the higher the better; `similarity` the share of the query's words that are in it."""

    chunk_id: int
    partition: str
    file_id: str
    filename: str
    page: int
    content: str
    metadata: dict[str, Any]
    rank: float
    similarity: float


def fold(text: str) -> str:
    """Lower case, without diacritics."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def words_of(text: str) -> list[str]:
    """The words that carry meaning, each once, in their order."""
    words = (word.lower() for word in _WORD.findall(text))
    kept = (word for word in words if fold(word) not in STOP_WORDS and (len(word) > 1 or word.isdigit()))
    return list(dict.fromkeys(kept))[:MAX_WORDS]


def match_query(words: list[str]) -> str:
    """An FTS5 query that any of the words satisfies. Quoted, none of them is an operator."""
    return " OR ".join(f'"{word}"' for word in words)


def stem(word: str) -> str:
    """What a word and its plural or conjugations have in common, roughly."""
    return _ENDING.sub("", fold(word))


def similarity(words: list[str], content: str) -> float:
    stems = {stem(word) for word in words}
    found = {stem(word) for word in _WORD.findall(content)} & stems
    return len(found) / len(stems) if stems else 0.0


class Retrieval:
    def __init__(self, database: Database) -> None:
        self._database = database

    def search(self, text: str, scope: Scope, top_k: int, threshold: float = 0.0) -> list[Passage]:
        """The best passages, best first, of at least `threshold` similarity."""
        words = words_of(text)
        if not words:
            return []
        condition, values = _condition(scope)
        rows = self._database.rows(
            f"SELECT chunks.*, content, files.filename, metadata, -{_RANK} AS rank "  # noqa: S608
            "FROM passages JOIN chunks ON chunks.id = passages.rowid JOIN files USING (partition, file_id) "
            f"WHERE passages MATCH ? AND {condition} ORDER BY rank DESC, chunks.id LIMIT ?",
            match_query(words),
            *values,
            top_k,
        )
        passages = (_passage(row, similarity(words, f"{row['filename']} {row['content']}")) for row in rows)
        return [passage for passage in passages if passage.similarity >= threshold]

    def passage(self, chunk_id: str) -> Passage:
        row = self._database.row(
            "SELECT chunks.*, content, files.filename, metadata, 0 AS rank FROM chunks "
            "JOIN passages ON passages.rowid = chunks.id JOIN files USING (partition, file_id) "
            "WHERE CAST(chunks.id AS TEXT) = ?",
            chunk_id,
        )
        if row is None:
            raise ApiError(404, f"Document '{chunk_id}' not found.")
        return _passage(row, 1.0)


def _condition(scope: Scope) -> tuple[str, list[str]]:
    if scope.workspace is not None:
        members = "SELECT file_id FROM memberships WHERE partition = ? AND workspace_id = ?"
        condition = f"chunks.partition = ? AND chunks.file_id IN ({members})"  # noqa: S608
        return condition, [scope.partition, scope.partition, scope.workspace]
    if scope.file_ids is not None:
        chosen = "SELECT value FROM json_each(?)"
        condition = f"chunks.partition = ? AND chunks.file_id IN ({chosen})"
        return condition, [scope.partition, json.dumps(scope.file_ids)]
    return "chunks.partition = ?", [scope.partition]


def _passage(row: Any, alike: float) -> Passage:
    return Passage(
        chunk_id=row["id"],
        partition=row["partition"],
        file_id=row["file_id"],
        filename=row["filename"],
        page=row["page"],
        content=row["content"],
        metadata=json.loads(row["metadata"]),
        rank=row["rank"],
        similarity=round(alike, 3),
    )
