"""What an event is, and how it looks on the wire."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

CHAT_EVENTS = "io.cozy.ai.chat.events"
MAX_SIZE = 1 << 20  # bytes of an event; a larger one goes out cut

Doc = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """A realtime event of a document: `verb` is CREATED, UPDATED, DELETED or NOTIFIED."""

    verb: str
    type: str
    id: str
    doc: Doc

    @property
    def question(self) -> str:
        """The question whose history the event belongs to; empty for the instance's own history."""
        return self.id if self.type == CHAT_EVENTS else ""

    def encode(self) -> str:
        """The JSON that a websocket carries: `doc` holds the document's `_id` too."""
        encoded = self._dump({"_id": self.id, **self.doc})
        if len(encoded) > MAX_SIZE:
            encoded = self._dump(_cut({"_id": self.id, **self.doc}))
        return encoded.decode()

    def _dump(self, doc: Doc) -> bytes:
        payload = {"id": self.id, "type": self.type, "doc": doc}
        text = json.dumps({"event": self.verb, "payload": payload}, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="replace")  # half of a surrogate pair is no text


def _cut(doc: Doc) -> Doc:
    """What stays of a document that is too large: `_id`, `_rev`, its small fields, ids and roles of messages."""
    cut = {key: value for key, value in doc.items() if len(json.dumps(value)) <= 1024}
    if isinstance(messages := doc.get("messages"), list):
        cut["messages"] = [{key: m[key] for key in ("id", "role") if key in m} for m in messages]
    if isinstance(content := doc.get("content"), list):
        cut["content"] = _first_mib(content)
    elif isinstance(content, str):
        cut["content"] = content.encode()[: MAX_SIZE // 2].decode(errors="ignore")
    return cut | {"_cut": True}


def _first_mib(items: list[Any]) -> list[Any]:
    """The first items of a list, as many as fit in three quarters of an event."""
    size, kept = 0, []
    for item in items:
        size += len(json.dumps(item, ensure_ascii=False).encode())
        if size > MAX_SIZE * 3 // 4:
            break
        kept.append(item)
    return kept


@dataclass(frozen=True)
class Published:
    """An event as Redis gives it: its place (`place`, a stream's id) in the history of `question`, its text."""

    domain: str
    question: str
    place: str
    text: str

    @cached_property
    def subject(self) -> tuple[str, str]:
        """The doctype and the id that subscriptions are matched with."""
        if self.question:
            return CHAT_EVENTS, self.question
        payload = json.loads(self.text)["payload"]
        return payload["type"], payload["id"]

    @property
    def order(self) -> tuple[int, int]:
        milliseconds, _, sequence = self.place.partition("-")
        return int(milliseconds), int(sequence)

    @classmethod
    def parse(cls, domain: str, message: str) -> "Published":
        """From the live channel: `<place> <question or nothing>\\n<text>`."""
        head, _, text = message.partition("\n")
        place, _, question = head.partition(" ")
        return cls(domain, question, place, text)
