"""Files and folders as clients add, rename, move and trash them (Cozy's own routes of files)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO

from redis import Redis

from ragcore import units
from ragcore.documents import FILES, ROOT_ID, TRASH_ID, TRASH_PATH, Directory, is_inside
from ragcore.errors import Invalid, Mismatch, NotFound, Unprocessable
from ragcore.files.edit import Editor
from ragcore.files.kinds import UNKNOWN, mime_of
from ragcore.files.names import held
from ragcore.files.storage import Readable
from ragcore.permissions import Forbidden
from ragcore.store import Document

UNTOLD = ("", UNKNOWN, "application/x-www-form-urlencoded")  # types of a body that say nothing of a file
KINDS = ("file", "directory")
UNMOVED = (ROOT_ID, TRASH_ID)


@dataclass(frozen=True)
class Upload:
    """What a client says of a file beside its content; `size` in bytes, `md5sum` base64, dates ISO 8601."""

    name: str
    mime: str = ""
    size: int | None = None
    md5sum: str = ""
    created_at: str = ""
    updated_at: str = ""
    executable: bool = False
    encrypted: bool = False
    tags: list[str] = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """Those of the document. Raises Unprocessable."""
        mime = mime_of(self.name) if self.mime in UNTOLD else self.mime
        created = _date("CreatedAt", self.created_at) or units.now()
        dates = {"created_at": created, "updated_at": _date("UpdatedAt", self.updated_at) or units.now()}
        flags = {"executable": self.executable, "encrypted": self.encrypted, "tags": self.tags}
        return {"mime": mime, **dates, **flags}


@dataclass(frozen=True)
class ClientFiles:
    """Raises NotFound, Conflict for a name that is taken, Unprocessable for one that is none."""

    editor: Editor
    redis: Redis

    def get(self, file_id: str) -> Document:
        if file_id.startswith("_"):
            raise NotFound("there is no such file")
        doc = self.editor.store.get(self.editor.instance, FILES, file_id)
        if doc.get("type") not in KINDS:
            raise NotFound("there is no such file")
        return doc

    def get_many(self, ids: list[str]) -> list[Document]:
        """Those of the ids that are files or folders, in their order."""
        known = [file_id for file_id in ids if not file_id.startswith("_")]
        docs = self.editor.store.get_many(self.editor.instance, FILES, known)
        return [docs[file_id] for file_id in ids if docs.get(file_id, {}).get("type") in KINDS]

    def open(self, doc: Document) -> BinaryIO:
        """The content of a file."""
        return self.editor.storage.open(self.editor.instance.domain, self.editor.path_of(doc))

    def add_directory(self, dir_id: str, name: str) -> Document:
        parent = self._parent(dir_id)
        with self._name(parent, name):
            return self.get(self.editor.add_directory(parent, name).id)

    def add_file(self, dir_id: str, upload: Upload, content: Readable) -> Document:
        """The content is copied aside as it comes; only then its name is held.

        Raises Mismatch when it is not what the client has: a body that broke off looks like a shorter one.
        """
        parent, fields = self._parent(dir_id), upload.fields()
        with _unprocessable():
            self.editor.check_free(parent, upload.name)
        with self.editor.storage.receiving(content) as received:
            if upload.size not in (None, received.size):
                raise Mismatch("the content is not as long as its Content-Length")
            if upload.md5sum not in ("", received.md5sum):
                raise Mismatch("the content is not the one of the Content-MD5 header")
            parent = self._parent(dir_id)  # it may have been moved since
            with self._name(parent, upload.name):
                return self.editor.add_received(parent, upload.name, received, **fields)

    def move(self, doc: Document, name: str, dir_id: str) -> Document:
        """Renames and moves; what is in its place already is left as it is."""
        self._check_movable(doc)
        if (name, dir_id) == (doc["name"], doc["dir_id"]):
            return doc
        parent = self._parent(dir_id)
        with self._name(parent, name):
            return self.editor.move(doc, parent, name)

    def trash(self, doc: Document) -> Document:
        self._check_movable(doc)
        with held(self.redis, self.editor.instance.domain, TRASH_ID):
            return self.editor.trash(doc)

    def _check_movable(self, doc: Document) -> None:
        """Raises Forbidden, Invalid."""
        if doc["_id"] in UNMOVED:
            raise Forbidden("the root and the trash stay where they are")
        if doc.get("trashed") or is_inside(self.editor.path_of(doc), TRASH_PATH):
            raise Invalid("it is in the trash")

    def _parent(self, dir_id: str) -> Directory:
        """Raises NotFound for what is no folder, or in the trash."""
        parent = None if dir_id.startswith("_") else self.editor.tree.directory(dir_id)
        if parent is None or parent.trashed:
            raise NotFound("there is no such folder")
        return parent

    @contextmanager
    def _name(self, parent: Directory, name: str) -> Iterator[None]:
        with _unprocessable(), held(self.redis, self.editor.instance.domain, parent.id, name):
            yield


@contextmanager
def _unprocessable() -> Iterator[None]:
    """A name that is none, a folder that would be moved into itself."""
    try:
        yield
    except Invalid as error:
        raise Unprocessable(str(error), error.pointer) from None


def _date(parameter: str, text: str) -> str:
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
        return units.isoformat(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise Unprocessable(f"{parameter} is not a date (write 2026-08-20T08:12:00Z)") from None
