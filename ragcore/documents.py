"""Typed records of the documents that the rules read (`contracts/cozy.md`, Files; Assistants)."""

import base64
import binascii
import logging
import re
from dataclasses import dataclass, field
from typing import Any

from ragcore.accounts import ACCOUNTS as ACCOUNTS
from ragcore.files.kinds import UNKNOWN
from ragcore.store import Document

log = logging.getLogger(__name__)

FILES = "io.cozy.files"
ASSISTANTS = "io.cozy.ai.chat.assistants"
CONVERSATIONS = "io.cozy.ai.chat.conversations"
STATUSES = "io.cozy.ai.chat.rag"
MEMORIES = "io.cozy.ai.memories"
LONGEST_ID = 256  # characters of an id that somebody chose: escaped, it still fits into a URL

ROOT_ID = "io.cozy.files.root-dir"
TRASH_ID = "io.cozy.files.trash-dir"
TRASH_PATH = "/.cozy_trash"
_MIME = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?[\w.+-]+=[\w.+-]+)*", re.ASCII)
BY_PARENT = "dir-children"  # the Mango index of the children of a directory
BY_CHANGE = "files-by-change"  # that of the last changes of files
BY_DATE = "conversations-by-date"  # that of the last changes of conversations
CHANGED = "cozyMetadata.updatedAt"  # its field


def is_inside(path: str, directory: str) -> bool:
    """Whether a path is a directory's own or below it, by whole segments."""
    return bool(directory) and (path == directory or path.startswith(directory.rstrip("/") + "/"))


@dataclass(frozen=True)
class Directory:
    id: str
    name: str
    path: str
    dir_id: str = ""
    rev: str = ""

    @classmethod
    def from_document(cls, doc: Document) -> "Directory":
        name, path, dir_id = (_text(doc.get(key)) for key in ("name", "path", "dir_id"))
        return cls(doc["_id"], name, path, dir_id, doc["_rev"])

    @property
    def trashed(self) -> bool:
        return is_inside(self.path, TRASH_PATH)


@dataclass(frozen=True)
class File:
    """A file; `md5sum` is hexadecimal, as openRAG is given it, `size` in bytes."""

    id: str
    rev: str
    name: str
    dir_id: str
    size: int = 0
    md5sum: str = ""
    mime: str = UNKNOWN
    class_: str = "files"
    trashed: bool = False
    encrypted: bool = False
    created_at: str = ""
    updated_at: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_document(cls, doc: Document) -> "File":
        return cls(
            id=doc["_id"],
            rev=doc["_rev"],
            name=_text(doc.get("name")),
            dir_id=_text(doc.get("dir_id")),
            size=_number(doc.get("size")),
            md5sum=_hexadecimal(str(doc.get("md5sum") or "")),
            mime=_mime(doc.get("mime")),
            class_=_text(doc.get("class")) or "files",
            trashed=bool(doc.get("trashed")),
            encrypted=bool(doc.get("encrypted")),
            created_at=_text(doc.get("created_at")),
            updated_at=_text(doc.get("updated_at")),
            metadata=_object(doc.get("metadata")),
        )

    @property
    def datetime(self) -> str:
        return str(self.metadata.get("datetime") or self.created_at)


def generation(rev: str) -> int:
    """The number before the dash of a revision; 0 when there is none."""
    number, _, _ = rev.partition("-")
    return int(number) if number.isdecimal() and len(number) < 20 else 0


def _text(value: Any) -> str:
    """A text that UTF-8 can hold; what is none is empty."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mime(value: Any) -> str:
    """A type that may stand in a header, of a download and of a part of an upload."""
    text = _text(value)
    return text if _MIME.fullmatch(text) else UNKNOWN


def _number(text: Any) -> int:
    return int(text) if str(text).isdecimal() and len(str(text)) < 20 else 0


def _hexadecimal(md5sum: str) -> str:
    try:
        return base64.b64decode(md5sum, validate=True).hex()
    except (binascii.Error, ValueError):
        return ""


@dataclass(frozen=True)
class Assistant:
    """`folder` is the id of its knowledge base folder, `provider` of the account of its own LLM."""

    id: str
    name: str
    prompt: str = ""
    folder: str | None = None
    provider: str | None = None

    @classmethod
    def from_document(cls, doc: Document) -> "Assistant":
        return cls(doc["_id"], _text(doc.get("name")), _text(doc.get("prompt")), _folder(doc), _provider(doc))


def _folder(doc: Document) -> str | None:
    """The relationship's folder, else the one of the deprecated attribute; of several the first counts."""
    current = [entry.get("_id") for entry in _list(related(doc, "knowledgeBase")) if entry.get("_type") == FILES]
    former = [entry.get("dirId") for entry in _list(doc.get("knowledgeBase")) if entry.get("doctype") == FILES]
    folders = list(dict.fromkeys(folder for folder in current or former if folder and isinstance(folder, str)))
    if len(folders) > 1:
        log.warning("assistant %s: only the first folder counts, not %s", doc["_id"], ", ".join(folders[1:]))
    return folders[0] if folders else None


def _provider(doc: Document) -> str | None:
    account = related(doc, "provider")
    if not isinstance(account, dict):
        return None
    metadata = account.get("metadata")
    named = metadata.get("providerId") if isinstance(metadata, dict) else None
    return _text(account.get("_id")) or None if named and named != "openrag" else None


def related(doc: Document, name: str) -> Any:
    """The `data` of a relationship, whatever clients wrote there."""
    relationships = doc.get("relationships")
    relationship = relationships.get(name) if isinstance(relationships, dict) else None
    return relationship.get("data") if isinstance(relationship, dict) else None


def _list(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
