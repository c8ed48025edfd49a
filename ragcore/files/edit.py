"""Changes of the tree: the documents and the stored content, kept together.

The content comes first, then its document: a document without content would be skipped for good by the indexing,
content without a document is only in the way. Names that are taken are a Conflict.
"""

from dataclasses import dataclass
from typing import Any, BinaryIO

from ragcore import units
from ragcore.documents import BY_PARENT, FILES, ROOT_ID, TRASH_ID, TRASH_PATH, Directory
from ragcore.errors import Conflict, Invalid, NotFound
from ragcore.files.kinds import class_of, mime_of
from ragcore.files.storage import Storage
from ragcore.files.tree import BY_PATH, Tree
from ragcore.instances import Instance
from ragcore.store import Document, Store

LONGEST_NAME = 255  # bytes
BY_NAME = "dir-names"  # the Mango index of the names in a directory
ROOT = Directory(ROOT_ID, "", "/")
TRASH = Directory(TRASH_ID, ".cozy_trash", TRASH_PATH, ROOT_ID)


@dataclass(frozen=True)
class Editor:
    store: Store
    storage: Storage
    instance: Instance

    @property
    def tree(self) -> Tree:
        return Tree(self.store, self.instance)

    def prepare(self) -> None:
        """Makes what every instance has: the root, the trash, the indexes. What is there already is fine."""
        self.store.add_index(self.instance, FILES, BY_PARENT, ["dir_id", "_id"])
        self.store.add_index(self.instance, FILES, BY_PATH, ["path"])
        self.store.add_index(self.instance, FILES, BY_NAME, ["dir_id", "name"])
        for directory in (ROOT, TRASH):
            self.storage.make_directory(self.instance.domain, directory.path)
            try:
                self._save(_directory_document(directory))
            except Conflict:
                continue

    def mkdir(self, path: str) -> Directory:
        """The directory of an absolute path, made with those above it when it is missing."""
        directory = ROOT
        for name in path.strip("/").split("/") if path.strip("/") else []:
            directory = self._subdirectory(directory, name)
        return directory

    def _subdirectory(self, parent: Directory, name: str) -> Directory:
        path = join(parent.path, name)
        try:
            return self.tree.at(path)
        except NotFound:
            return self.add_directory(parent, name)

    def add_directory(self, parent: Directory, name: str) -> Directory:
        self._check_free(parent, name)
        self.storage.make_directory(self.instance.domain, join(parent.path, name))
        made = Directory("", name, join(parent.path, name), parent.id)
        return Directory.from_document(self._save(_directory_document(made)))

    def add_file(self, parent: Directory, name: str, content: BinaryIO, **fields: Any) -> Document:
        """`fields` are laid over those of the document (`created_at`, `updated_at`, `mime`, `metadata`)."""
        self._check_free(parent, name)
        with self.storage.writing(self.instance.domain, join(parent.path, name), content) as stored:
            mime, now = fields.get("mime") or mime_of(name), units.now()
            doc = {"type": "file", "name": name, "dir_id": parent.id, "trashed": False, "encrypted": False}
            doc |= {"size": str(stored.size), "md5sum": stored.md5sum, "mime": mime, "class": class_of(mime)}
            doc |= {"created_at": now, "updated_at": now, "executable": False, "tags": [], **fields}
            doc["metadata"] = {"datetime": doc["created_at"], **fields.get("metadata", {})}
            return self._save(doc)

    def replace_content(self, file: Document, content: BinaryIO, **fields: Any) -> Document:
        """The same file with other content. Raises Conflict when the document was changed meanwhile."""
        with self.storage.writing(self.instance.domain, self.path_of(file), content) as stored:
            changed = {"size": str(stored.size), "md5sum": stored.md5sum, "updated_at": units.now(), **fields}
            return self._save({**file, **changed})

    def move(self, doc: Document, parent: Directory, name: str, **fields: Any) -> Document:
        """Moves or renames a file, or a directory: then the `path` of all directories below is written again, and
        no file's document."""
        self._check_free(parent, name)
        before, after = self.path_of(doc), join(parent.path, name)
        moved = {**doc, "dir_id": parent.id, "name": name, **fields}
        if doc["type"] == "file":
            self.storage.move(self.instance.domain, before, after)
            return self._save(moved)
        if parent.path == before or parent.path.startswith(f"{before}/"):
            raise Invalid("a folder cannot be moved into itself")
        below = list(self.tree.below(Directory.from_document(doc)))
        self.storage.move(self.instance.domain, before, after)
        saved = self._save(moved | {"path": after})
        self._save_all([{**child, "path": after + child["path"].removeprefix(before)} for child in below])
        return saved

    def trash(self, doc: Document) -> Document:
        """Moves a file or a directory to the trash, under a name that is free there."""
        fields: Document = {"restore_path": self.path_of(doc).rpartition("/")[0] or "/"}
        if doc["type"] == "file":
            fields["trashed"] = True
        return self.move(doc, TRASH, self._free_name(TRASH, doc["name"]), **fields)

    def path_of(self, doc: Document) -> str:
        """A file has no path of its own: its parent's, and its name."""
        if doc["type"] == "directory":
            return str(doc["path"])
        return join(self.tree.directory(doc["dir_id"]).path, doc["name"])

    def _free_name(self, parent: Directory, name: str) -> str:
        number, candidate = 1, name
        while self._is_taken(parent, candidate):
            number += 1
            candidate = _numbered(name, number)
        return candidate

    def _check_free(self, parent: Directory, name: str) -> None:
        check_name(name)
        if self._is_taken(parent, name):
            raise Conflict(f"there is a {join(parent.path, name)} already")

    def _is_taken(self, parent: Directory, name: str) -> bool:
        selector = {"dir_id": parent.id, "name": name}
        return bool(self.store.find(self.instance, FILES, selector, index=BY_NAME, limit=1))

    def _save(self, doc: Document) -> Document:
        return self.store.save(self.instance, FILES, doc | {"cozyMetadata": self._metadata(doc)})

    def _save_all(self, docs: list[Document]) -> None:
        if docs:
            self.store.save_all(self.instance, FILES, docs)

    def _metadata(self, doc: Document) -> Document:
        now = units.now()
        made = {"doctypeVersion": "1", "metadataVersion": 1, "createdAt": now, "createdByApp": "ragcore"}
        return {**made, **(doc.get("cozyMetadata") or {}), "updatedAt": now}


def join(directory: str, name: str) -> str:
    return f"{directory.rstrip('/')}/{name}"


def check_name(name: str) -> None:
    """Raises Invalid for what is no name of a file."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise Invalid(f"{name!r} is not a name of a file")
    if len(name.encode(errors="replace")) > LONGEST_NAME:
        raise Invalid(f"the name {name[:20]}... is longer than {LONGEST_NAME} bytes")


def _directory_document(directory: Directory) -> Document:
    now = units.now()
    doc = {"type": "directory", "name": directory.name, "path": directory.path, "dir_id": directory.dir_id}
    identity = {"_id": directory.id} if directory.id else {}
    return {**identity, **doc, "created_at": now, "updated_at": now, "tags": []}


def _numbered(name: str, number: int) -> str:
    """`a.txt` as `a (2).txt`, within the length of a name."""
    stem, dot, extension = name.rpartition(".")
    stem, ending = (stem, dot + extension) if stem else (name, "")
    suffix = f" ({number}){ending}"
    room = LONGEST_NAME - len(suffix.encode())
    return stem.encode()[: max(room, 0)].decode(errors="ignore") + suffix[-LONGEST_NAME:]
