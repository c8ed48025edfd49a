"""Sources as openRAG gives them, turned into those of the events and of the saved messages."""

import math
from collections.abc import Iterable
from typing import Any

from ragcore.units import is_web_url

Json = dict[str, Any]

_DOCUMENT = {  # ours: openRAG's, of the chunk
    "id": "file_id",
    "doctype": "doctype",
    "filename": "filename",
    "page": "page",
    "datetime": "datetime",
    "email.subject": "email.subject",
    "email.preview": "email.preview",
    "parent_id": "parent_id",
    "relationship_id": "relationship_id",
}
_LINKS = {"fileUrl": "file_url", "chunkUrl": "chunk_url"}
_WEB = ("url", "title", "snippet")


def from_openrag(sources: Iterable[Json], partition: str) -> list[Json]:
    """What is unknown is left out; a source of no known type, or of another partition, too.

    Of URLs only those of the web are told: a page may make links of them.
    """
    return [converted for source in sources if (converted := _source(source, partition))]


def _source(source: Json, partition: str) -> Json | None:
    if source.get("source_type") == "web":
        fields = {key: source.get(key) for key in _WEB} | {"url": _url(source.get("url"))}
        return {"sourceType": "web", "doctype": "io.cozy.urls"} | _known(fields)
    if source.get("source_type") != "document":
        return None
    chunk = source.get("chunk")
    chunk = chunk if isinstance(chunk, dict) else source  # flat before openRAG 2.3
    if chunk.get("partition", partition) != partition:
        return None
    fields = {ours: chunk.get(theirs) for ours, theirs in _DOCUMENT.items()}
    links = {ours: _url(source.get(theirs)) for ours, theirs in _LINKS.items()}
    return {"sourceType": "document"} | _known(fields | links)


def _url(value: Any) -> Any:
    return value if is_web_url(value) else None


def _known(fields: Json) -> Json:
    """What is there, and can be written as JSON: an infinite number cannot."""
    return {key: value for key, value in fields.items() if value not in (None, "") and not _is_infinite(value)}


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
