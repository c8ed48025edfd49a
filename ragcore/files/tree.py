"""The tree of an instance's files, as its documents say it."""

from collections.abc import Iterator

from ragcore.documents import BY_PARENT, FILES, Directory, is_inside
from ragcore.errors import NotFound
from ragcore.instances import Instance
from ragcore.store import Document, Store

PAGE = 500  # documents
BY_PATH = "dir-by-path"  # the Mango index of the directories' paths


class Tree:
    """Reads the tree. Raises NotFound for what is gone, Retryable for what cannot be read.

    CouchDB compares text by the Unicode collation, where names that differ (in how an accent is written) can be
    equal and those of `/a` and `/A` stand mixed; so what an index finds is compared again, here.
    """

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
        found = self._store.find(self._instance, FILES, {"path": path}, index=BY_PATH)
        for doc in found:
            if doc["path"] == path:
                return Directory.from_document(doc)
        raise NotFound(f"there is no folder {path}")

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

    def taken(self, dir_id: str, names: set[str]) -> set[str]:
        """Those of the names that a child of the directory has, in one request."""
        # PouchDB takes an index only when all of its fields are in the selector
        selector = {"dir_id": dir_id, "_id": {"$gt": ""}, "name": {"$in": sorted(names)}}
        found = self._store.find(self._instance, FILES, selector, index=BY_PARENT)
        return {doc["name"] for doc in found} & names

    def below(self, directory: Directory, start: str = "") -> Iterator[Document]:
        """All directories below a directory, by their paths, from the path `start` on."""
        prefix = directory.path.rstrip("/")
        after, page_before = max(f"{prefix}/", start), set[str]()
        while True:
            selector = {"path": {"$gte": after, "$lt": f"{prefix}0"}}  # 0 follows / in every order
            page = self._store.find(self._instance, FILES, selector, index=BY_PATH, limit=PAGE)
            for doc in page:
                if is_inside(doc["path"], directory.path) and doc["_id"] not in {*page_before, directory.id}:
                    yield doc
            if len(page) < PAGE or page[-1]["path"] == after:
                return
            after, page_before = page[-1]["path"], {doc["_id"] for doc in page}
