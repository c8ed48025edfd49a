"""Passages of documents, as openRAG's search gives them (`contracts/openrag.md`, Search)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ragcore.units import well_formed

Json = dict[str, Any]


@dataclass(frozen=True)
class Passage:
    """`metadata` is openRAG's: what was sent with the file, and the page; `link` leads to the passage itself."""

    file_id: str
    content: str
    metadata: Json = field(default_factory=dict)
    link: str = ""

    @property
    def filename(self) -> str:
        return _text(self.metadata.get("filename"))


def passages_of(documents: Iterable[Any], partition: str) -> list[Passage]:
    """In their order; what is no passage, or of another partition, is left out."""
    return [passage for document in documents if (passage := _passage(document, partition))]


def _passage(document: Any, partition: str) -> Passage | None:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict) or metadata.get("partition", partition) != partition:
        return None
    file_id, content = _text(metadata.get("file_id")), _text(document.get("content"))
    return Passage(file_id, content, metadata, _text(document.get("link"))) if file_id and content.strip() else None


def _text(value: Any) -> str:
    return well_formed(value) if isinstance(value, str) else ""
