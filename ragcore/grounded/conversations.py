"""The conversations of an instance, whichever surface they come from: listed, shown, renamed, deleted."""

from collections.abc import Iterator
from typing import Any

from ragcore.chat.conversations import assistant_id_of, messages_of
from ragcore.chat.titles import summary_of
from ragcore.data import LARGEST_PAGE, Data
from ragcore.documents import BY_DATE, CHANGED, CONVERSATIONS
from ragcore.errors import NotFound
from ragcore.grounded.retrieve import cited_sources
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document

Json = dict[str, Any]

CHAT = "chat"  # the surface of those that are marked with none
FIELDS = ["_id", "name", "surface", "messages.0.content", "relationships", "cozyMetadata"]
WITH_SOURCES = ["_id", "name", "messages", "cozyMetadata"]
READ_FOR_SOURCES = 100  # conversations, the newest
READ_AT_ONCE = 10


class Conversations:
    """Each call raises Retryable; of a conversation that is not there, NotFound."""

    def __init__(self, runtime: Runtime, instance: Instance) -> None:
        self._store = runtime.store
        self._data = Data(runtime.store, runtime.sealer, instance, CONVERSATIONS)
        self._instance = instance

    def page(self, limit: int, bookmark: str = "") -> Json:
        """The newest first; `next` is the bookmark of the next page, None after the last. Raises Rejected."""
        found = self._find(FIELDS, limit, bookmark)
        described = [_described(_with_list(doc)) for doc in found["docs"]]
        return {"conversations": described, "next": found["bookmark"] if found["next"] else None}

    def count(self) -> int:
        return self._data.count()

    def changed_since(self, date: str) -> int:
        """How many were, as far as they can be told at once."""
        found = self._find(["_id"], LARGEST_PAGE, since=date)
        return len(found["docs"])

    def get(self, conversation_id: str) -> Json:
        doc = self._store.get(self._instance, CONVERSATIONS, conversation_id)
        return {**_described(doc), "messages": messages_of(doc)}

    def rename(self, conversation_id: str, title: str) -> Json:
        """Raises Conflict."""
        return _described(self._change(conversation_id, lambda doc: {**doc, "name": title}))

    def delete(self, conversation_id: str) -> None:
        """Raises Conflict."""
        self._change(conversation_id, lambda doc: {"_id": doc["_id"], "_rev": doc["_rev"], "_deleted": True})

    def _change(self, conversation_id: str, change: Any) -> Document:
        def changed(doc: Document) -> Document:
            if conversation_id.startswith("_") or "_rev" not in doc:
                raise NotFound("there is no such conversation")
            made: Document = change(doc)
            return made

        return self._store.update(self._instance, CONVERSATIONS, conversation_id, changed) or {}

    def sources(self, limit: int) -> list[Json]:
        """What the answers of the newest conversations cite, the last answer first."""
        cited: list[Json] = []
        for docs in self._newest():
            cited += [source for doc in docs for source in _citations(doc)]
            cited = sorted(cited, key=lambda source: source["citedAt"], reverse=True)[:limit]
            # nothing in a conversation is younger than its last change
            if len(cited) == limit and cited[-1]["citedAt"] >= str(summary_of(docs[-1])["updatedAt"]):
                break
        return cited

    def _newest(self) -> Iterator[list[Document]]:
        bookmark = ""
        for _ in range(READ_FOR_SOURCES // READ_AT_ONCE):
            found = self._find(WITH_SOURCES, READ_AT_ONCE, bookmark)
            if found["docs"]:
                yield found["docs"]
            if not found["next"]:
                return
            bookmark = found["bookmark"]

    def _find(self, fields: list[str], limit: int, bookmark: str = "", since: str | None = None) -> Document:
        """In the order of their last changes."""
        query = {"selector": {CHANGED: {"$gt": since}}, "sort": [{CHANGED: "desc"}], "fields": fields, "limit": limit}
        query |= {"bookmark": bookmark} if bookmark else {}
        return self._store.with_index(self._instance, CONVERSATIONS, BY_DATE, [CHANGED], lambda: self._data.find(query))


def _with_list(doc: Document) -> Document:
    """Of a list, a Mango query gives the items that are asked for by their places."""
    messages = doc.get("messages")
    return {**doc, "messages": list(messages.values())} if isinstance(messages, dict) else doc


def _described(doc: Document) -> Json:
    metadata = doc.get("cozyMetadata")
    created = metadata.get("createdAt") if isinstance(metadata, dict) else None
    told = {**summary_of(doc), "createdAt": created, "surface": surface_of(doc)}
    return told | ({"assistantID": assistant_id} if (assistant_id := assistant_id_of(doc)) else {})


def surface_of(doc: Document) -> str:
    surface = doc.get("surface")
    return surface if isinstance(surface, str) and surface else CHAT


def _citations(doc: Document) -> Iterator[Json]:
    about = {key: value for key, value in summary_of(doc).items() if key != "updatedAt"}
    for message in messages_of(doc):
        date = message.get("createdAt")
        cited_at = date if isinstance(date, str) else ""  # what has none is the oldest
        for source in cited_sources(message):
            yield {**source, "conversation": about, "messageId": message.get("id"), "citedAt": cited_at}
