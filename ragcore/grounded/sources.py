"""The passages of an answer as its sources: number, file, folder, page, passage, and whether it cites them."""

from collections.abc import Sequence
from typing import Any

from ragcore.chat.sources import from_openrag
from ragcore.documents import FILES, MEMORIES
from ragcore.files.tree import Tree
from ragcore.grounded.remembered import MEMORY, Remembered
from ragcore.instances import Instance
from ragcore.openrag import Passage
from ragcore.store import Store

Json = dict[str, Any]


def sources_of(store: Store, instance: Instance, passages: Sequence[Passage], cited: set[int]) -> list[Json]:
    """In their order. Raises Retryable."""
    folders = _folders(store, instance, {p.file_id for p in passages if not isinstance(p, Remembered)})
    return [
        {"number": number, **_source(instance, passage), **folders.get(passage.file_id, {}),
         "passage": passage.content, "cited": number in cited}
        for number, passage in enumerate(passages, start=1)
    ]  # fmt: skip


def _source(instance: Instance, passage: Passage) -> Json:
    """As the chat has it: pages show both."""
    if isinstance(passage, Remembered):
        return {"sourceType": MEMORY, "doctype": MEMORIES, "id": passage.file_id, "datetime": passage.date}
    source = {"source_type": "document", "chunk": passage.metadata, "chunk_url": passage.link}
    (converted,) = from_openrag([source], instance.domain)
    return converted


def _folders(store: Store, instance: Instance, file_ids: set[str]) -> dict[str, Json]:
    """The path of its folder, by the id of the file."""
    files = store.get_many(instance, FILES, file_ids)
    ids = {file_id: str(doc.get("dir_id") or "") for file_id, doc in files.items()}
    folders = Tree(store, instance).directories({dir_id for dir_id in ids.values() if dir_id})
    return {file_id: {"folder": folders[dir_id].path} for file_id, dir_id in ids.items() if dir_id in folders}
