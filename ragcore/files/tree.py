"""The tree of an instance's files, as its documents say it."""

from collections.abc import Iterator

from ragcore.documents import BY_PARENT, FILES, Directory
from ragcore.errors import NotFound
from ragcore.instances import Instance
from ragcore.store import Document, Store

PAGE = 100  # children
BY_PATH = "dir-by-path"  # the Mango index of the directories' paths
LAST = "\uffff"  # sorts behind every name


class Tree:
    """Reads the tree. Raises NotFound for what is gone, Retryable for what cannot be read."""

    def __init__(self, store: Store, instance: Instance) -> None:
        self._store = store
        self._instance = instance

    def directory(self, dir_id: str) -> Directory:
        doc = self._store.get(self._instance, FILES, dir_id)
        if doc.get("type") != "directory":
            raise NotFound(f"{dir_id} is no directory")
        return Directory.from_document(doc)

    def at(self, path: str) -> Directory:
        """The directory of an absolute path."""
        path = "/" + path.strip("/")
        found = self._store.find(self._instance, FILES, {"path": path}, index=BY_PATH, limit=1)
        if not found:
            raise NotFound(f"there is no folder {path}")
        return Directory.from_document(found[0])

    def directories(self, ids: set[str]) -> dict[str, Directory]:
        """Those of the ids that are directories, in one request."""
        docs = self._store.get_many(self._instance, FILES, ids)
        return {doc_id: Directory.from_document(doc) for doc_id, doc in docs.items() if doc.get("type") == "directory"}

    def children(self, dir_id: str, after: str = "") -> Iterator[list[Document]]:
        """The documents of a directory's children in the order of their ids, a page at a time."""
        while True:
            selector = {"dir_id": dir_id, "_id": {"$gt": after}}
            page = self._store.find(self._instance, FILES, selector, index=BY_PARENT, limit=PAGE)
            if page:
                yield page
            if len(page) < PAGE:
                return
            after = page[-1]["_id"]

    def below(self, directory: Directory) -> Iterator[Document]:
        """All directories below a directory, by their paths."""
        prefix = directory.path.rstrip("/") + "/"
        after = prefix
        while True:
            selector = {"path": {"$gt": after, "$lt": prefix + LAST}}
            page = self._store.find(self._instance, FILES, selector, index=BY_PATH, limit=PAGE)
            yield from (doc for doc in page if doc["path"].startswith(prefix))
            if len(page) < PAGE:
                return
            after = page[-1]["path"]
