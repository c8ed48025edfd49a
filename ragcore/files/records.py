"""The documents of files and directories, as they are written (`contracts/cozy.md`, Files)."""

from typing import Any

from ragcore import units
from ragcore.documents import Directory
from ragcore.errors import Invalid
from ragcore.files.kinds import class_of, extension, mime_of
from ragcore.files.storage import Stored
from ragcore.store import Document

LONGEST_NAME = 255  # bytes


def new_file(dir_id: str, name: str, stored: Stored, **fields: Any) -> Document:
    """`fields` are laid over those of the document (`created_at`, `updated_at`, `mime`, `metadata`)."""
    mime, now = fields.get("mime") or mime_of(name), units.now()
    doc = {"type": "file", "name": name, "dir_id": dir_id, "trashed": False, "encrypted": False}
    doc |= {"size": str(stored.size), "md5sum": stored.md5sum, "mime": mime, "class": class_of(mime)}
    doc |= {"created_at": now, "updated_at": now, "executable": False, "tags": [], **fields}
    doc["metadata"] = {"datetime": doc["created_at"], **fields.get("metadata", {})}
    return stamped(doc)


def with_content(doc: Document, stored: Stored, **fields: Any) -> Document:
    changed = {"size": str(stored.size), "md5sum": stored.md5sum, "updated_at": units.now(), **fields}
    return stamped({**doc, **changed})


def new_directory(directory: Directory) -> Document:
    now = units.now()
    doc = {"type": "directory", "name": directory.name, "path": directory.path, "dir_id": directory.dir_id}
    identity = {"_id": directory.id} if directory.id else {}
    return stamped({**identity, **doc, "created_at": now, "updated_at": now, "tags": []})


def moved(doc: Document, parent: Directory, name: str, **fields: Any) -> Document:
    """A file or a directory in another place; a file with another ending has another type."""
    placed = {**doc, "dir_id": parent.id, "name": name}
    if doc["type"] == "directory":
        placed["path"] = join(parent.path, name)
    elif extension(name) != extension(doc["name"]):
        placed |= {"mime": mime_of(name), "class": class_of(mime_of(name))}
    return stamped(placed | fields)


def trashed(doc: Document, parent_path: str) -> dict[str, Any]:
    """What a document says when it is moved from a directory to the trash, beside its place."""
    return {"restore_path": parent_path, **({"trashed": True} if doc["type"] == "file" else {})}


def stamped(doc: Document) -> Document:
    now = units.now()
    made = {"doctypeVersion": "1", "metadataVersion": 1, "createdAt": now, "createdByApp": "ragcore"}
    return doc | {"cozyMetadata": {**made, **(doc.get("cozyMetadata") or {}), "updatedAt": now}}


def join(directory: str, name: str) -> str:
    return f"{directory.rstrip('/')}/{name}"


def check_name(name: str) -> None:
    """Raises Invalid for what is no name of a file."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise Invalid(f"{name!r} is not a name of a file")
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        raise Invalid(f"{name!r} is not a name of a file: it is not UTF-8") from None
    if length > LONGEST_NAME:
        raise Invalid(f"the name {name[:20]}... is longer than {LONGEST_NAME} bytes")


def numbered(name: str, number: int) -> str:
    """`a.txt` as `a (2).txt`, within the length of a name."""
    ending = extension(name)
    suffix = f" ({number}){ending}"
    room = LONGEST_NAME - len(suffix.encode())
    if room <= 0:  # all of the name is its ending
        ending, suffix = "", f" ({number})"
        room = LONGEST_NAME - len(suffix)
    stem = name[: len(name) - len(ending)]
    return stem.encode()[:room].decode(errors="ignore") + suffix
