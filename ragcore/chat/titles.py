"""What a conversation is called: as the user named it, else by its first question."""

from typing import Any

from ragcore.chat.conversations import messages_of
from ragcore.store import Document

LONGEST = 80  # characters of a title that is taken from a question


def title_of(doc: Document) -> str:
    """`name` is what the user called it. Empty where nobody asked anything yet."""
    if named := _text(doc.get("name")):
        return named
    return _shortened(next((_text(message.get("content")) for message in messages_of(doc)), ""))


def summary_of(doc: Document) -> dict[str, Any]:
    metadata = doc.get("cozyMetadata")
    changed = metadata.get("updatedAt") if isinstance(metadata, dict) else None
    return {"id": doc["_id"], "title": title_of(doc), "updatedAt": changed}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _shortened(text: str) -> str:
    """In one line; what is too long ends with a whole word, where there is one."""
    line = " ".join(text[: LONGEST * 10].split())
    if len(line) <= LONGEST:
        return line
    cut = line[: LONGEST - 1]
    whole = cut if line[LONGEST - 1] == " " else cut.rpartition(" ")[0] or cut
    return f"{whole.rstrip()}…"
