"""What an event is, and how it looks on the wire."""

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from ragcore.accounts import ACCOUNTS, without_secrets

CHAT_EVENTS = "io.cozy.ai.chat.events"
MAX_SIZE = 1 << 20  # bytes of an event; a larger one goes out cut

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # one for all: making one takes half of the time

Doc = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Event:
    """A realtime event of a document: `verb` is CREATED, UPDATED, DELETED or NOTIFIED."""

    verb: str
    type: str
    id: str
    doc: Doc

    @classmethod
    def of_write(cls, doctype: str, doc: Doc) -> "Event":
        """By the revision that it has: whether it was there before is not known of one that was deleted since."""
        verb = "DELETED" if doc.get("_deleted") else "CREATED" if doc["_rev"].startswith("1-") else "UPDATED"
        return cls(verb, doctype, doc["_id"], doc)

    @property
    def question(self) -> str:
        """The question whose history the event belongs to; empty for the instance's own history."""
        return self.id if self.type == CHAT_EVENTS else ""

    @property
    def rev(self) -> str:
        """The revision of the document that was written; empty for what is no write."""
        return str(self.doc.get("_rev") or "") if self.verb != "NOTIFIED" and not self.question else ""

    @property
    def subject(self) -> str:
        """What subscriptions are matched with, as one line: doctype and id."""
        return json.dumps([self.type, self.id])

    def encode(self) -> str:
        """The JSON that a websocket carries: `doc` holds the document's `_id` too, and no secret of an account."""
        doc = {"_id": self.id, **(without_secrets(self.doc) if self.type == ACCOUNTS else self.doc)}
        encoded = self._dump(doc)
        if len(encoded) > MAX_SIZE:
            encoded = self._dump(_cut(doc))
        return encoded.decode()

    def _dump(self, doc: Doc) -> bytes:
        payload = {"id": self.id, "type": self.type, "doc": doc}
        text = _JSON.encode({"event": self.verb, "payload": payload})
        return text.encode(errors="replace")  # half of a surrogate pair is no text


def _cut(doc: Doc) -> Doc:
    """What stays of a document that is too large, each part only as far as there is room left.

    `_id` and `_rev`, the ids and roles of the messages, the beginning of the `content`, then the other fields.
    """
    room = _Room(MAX_SIZE * 3 // 4)
    cut: Doc = {key: doc[key] for key in ("_id", "_rev", "object", "position") if key in doc}
    if isinstance(messages := doc.get("messages"), list):
        cut["messages"] = room.first(_named(message) for message in messages if isinstance(message, dict))
    if isinstance(content := doc.get("content"), list):
        cut["content"] = room.first(content)
    elif isinstance(content, str):
        cut["content"] = "".join(room.first(content[at : at + 1024] for at in range(0, len(content), 1024)))
    others = [[key, value] for key, value in doc.items() if key not in cut]
    return dict(room.that_fit(others)) | cut | {"_cut": True}


def _named(message: Doc) -> Doc:
    return {key: message[key] for key in ("id", "role") if key in message}


class _Room:
    """The bytes that are left in an event."""

    def __init__(self, size: int) -> None:
        self._left = size

    def first(self, items: Iterable[T]) -> list[T]:
        """The first items, as many as there is room for."""
        return list(itertools.takewhile(self._take, items))

    def that_fit(self, items: Iterable[T]) -> list[T]:
        return [item for item in items if self._take(item)]

    def _take(self, item: object) -> bool:
        size = len(json.dumps(item, ensure_ascii=False).encode(errors="replace")) + 1
        if size > self._left:
            return False
        self._left -= size
        return True


@dataclass(frozen=True)
class Published:
    """An event as Redis gives it: its place (`place`, a stream's id) in the history of `question`, its text."""

    domain: str
    question: str
    place: str
    text: str

    @cached_property
    def subject(self) -> tuple[str, str]:
        """The doctype and the id that subscriptions are matched with; the live channel says them beforehand."""
        if self.question:
            return CHAT_EVENTS, self.question
        payload = json.loads(self.text)["payload"]
        return payload["type"], payload["id"]

    @cached_property
    def order(self) -> tuple[int, int]:
        return order_of(self.place)

    @classmethod
    def parse(cls, domain: str, message: str) -> "Published":
        """From the live channel: `<place> <subject>\\n<text>`."""
        head, _, text = message.partition("\n")
        place, _, subject = head.partition(" ")
        doctype, doc_id = json.loads(subject)
        published = cls(domain, doc_id if doctype == CHAT_EVENTS else "", place, text)
        published.__dict__["subject"] = (doctype, doc_id)
        return published


def order_of(place: str) -> tuple[int, int]:
    """What places are ordered by: milliseconds of the Redis server, and a number within one."""
    milliseconds, _, sequence = place.partition("-")
    return int(milliseconds), int(sequence)
