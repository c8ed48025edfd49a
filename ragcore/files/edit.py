"""Changes of the tree: the documents and the stored content, kept together.

The content comes first, then its document: a document without content would be skipped for good by the indexing,
content without a document is only in the way. Names that are taken are a Conflict.
"""

from dataclasses import dataclass
from typing import Any

from ragcore.documents import BY_PARENT, FILES, ROOT_ID, TRASH_ID, TRASH_PATH, Directory, is_inside
from ragcore.errors import Conflict, Invalid, NotFound, RagcoreError, Retryable
from ragcore.files import records
from ragcore.files.records import join
from ragcore.files.storage import Readable, Received, Storage
from ragcore.files.tree import BY_PATH, Tree
from ragcore.instances import Instance
from ragcore.store import Document, Store

BATCH = 100  # documents in one request
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
        for directory in (ROOT, TRASH):
            self.storage.make_directory(self.instance.domain, directory.path)
            try:
                self._save(records.new_directory(directory))
            except Conflict:
                continue

    def mkdir(self, path: str) -> Directory:
        """The directory of an absolute path, made with those above it when it is missing."""
        directory = ROOT
        for name in filter(None, path.split("/")):
            records.check_name(name)
            try:
                directory = self.tree.at(join(directory.path, name))
            except NotFound:
                directory = self.add_directory(directory, name)
        return directory

    def add_directory(self, parent: Directory, name: str) -> Directory:
        self.check_free(parent, name)
        made = Directory("", name, join(parent.path, name), parent.id)
        self.storage.make_directory(self.instance.domain, made.path)
        return Directory.from_document(self._save(records.new_directory(made)))

    def add_file(self, parent: Directory, name: str, content: Readable, **fields: Any) -> Document:
        """`fields` are laid over those of the document (`created_at`, `updated_at`, `mime`, `metadata`)."""
        self.check_free(parent, name)  # before all of the content is copied
        with self.storage.receiving(content) as received:
            return self._add(parent, name, received, fields)

    def add_received(self, parent: Directory, name: str, received: Received, **fields: Any) -> Document:
        """A file whose content stands aside already."""
        self.check_free(parent, name)
        return self._add(parent, name, received, fields)

    def _add(self, parent: Directory, name: str, received: Received, fields: Document) -> Document:
        with self.storage.placing(self.instance.domain, join(parent.path, name), received) as stored:
            return self._save(records.new_file(parent.id, name, stored, **fields))

    def replace_content(self, file: Document, content: Readable, **fields: Any) -> Document:
        """The same file with other content. Raises Conflict when the document was changed meanwhile."""
        with self.storage.writing(self.instance.domain, self.path_of(file), content) as stored:
            return self._save(records.with_content(file, stored, **fields))

    def move(self, doc: Document, parent: Directory, name: str, **fields: Any) -> Document:
        """Moves or renames a file, or a directory: then the `path` of all directories below is written again, and
        no file's document."""
        self.check_free(parent, name)
        before, after = self.path_of(doc), join(parent.path, name)
        if doc["type"] == "directory":
            return self._move_directory(doc, parent, name, fields)
        self.storage.move(self.instance.domain, before, after)
        try:
            return self._save(records.moved(doc, parent, name, **fields))
        except Retryable:
            raise
        except RagcoreError:
            self.storage.move(self.instance.domain, after, before)
            raise

    def _move_directory(self, doc: Document, parent: Directory, name: str, fields: Document) -> Document:
        """The directories below are written first: a move that was cut off is found and ended by doing it again."""
        directory, after = Directory.from_document(doc), join(parent.path, name)
        if is_inside(parent.path, directory.path):
            raise Invalid("a folder cannot be moved into itself")
        below = [child["_id"] for child in self.tree.below(directory)]
        self.storage.move(self.instance.domain, directory.path, after)
        for start in range(0, len(below), BATCH):
            self._rewrite_paths(below[start : start + BATCH], directory.path, after)

        def change(fresh: Document) -> Document:
            if "_rev" not in fresh:
                raise NotFound(f"the folder {directory.path} is gone")
            return records.moved(fresh, parent, name, **fields)

        saved = self.store.update(self.instance, FILES, doc["_id"], change)
        return saved or doc

    def _rewrite_paths(self, ids: list[str], before: str, after: str) -> None:
        while ids:
            docs = self.store.get_many(self.instance, FILES, ids)
            stale = [doc for doc in docs.values() if is_inside(doc["path"], before)]
            changed = [doc | {"path": after + doc["path"].removeprefix(before)} for doc in stale]
            saved = self.store.save_each(self.instance, FILES, changed)
            ids = [doc["_id"] for doc, done in zip(changed, saved, strict=True) if done is None]

    def trash(self, doc: Document) -> Document:
        """Moves a file or a directory to the trash, under a name that is free there."""
        fields = records.trashed(doc, self.path_of(doc).rpartition("/")[0] or "/")
        return self.move(doc, TRASH, self.free_names(TRASH, [doc["name"]])[0], **fields)

    def free_names(self, parent: Directory, names: list[str]) -> list[str]:
        """For each name one that is free in a directory: itself, else with a number. Few requests for many names."""
        free: dict[int, str] = {}
        wanted, number = dict(enumerate(names)), 1
        while wanted:
            taken = self.tree.taken(parent.id, set(wanted.values())) | set(free.values())
            for place, name in wanted.items():
                if name not in taken:
                    free[place] = name
                    taken.add(name)
            number += 1
            wanted = {place: records.numbered(names[place], number) for place in wanted if place not in free}
        return [free[place] for place in range(len(names))]

    def path_of(self, doc: Document) -> str:
        """A file has no path of its own: its parent's, and its name."""
        if doc["type"] == "directory":
            return str(doc["path"])
        return join(self.tree.directory(doc["dir_id"]).path, doc["name"])

    def check_free(self, parent: Directory, name: str) -> None:
        """Raises Invalid, Conflict."""
        records.check_name(name)
        if self.tree.taken(parent.id, {name}):
            raise Conflict(f"there is a {join(parent.path, name)} already")

    def _save(self, doc: Document) -> Document:
        return self.store.save(self.instance, FILES, doc)
