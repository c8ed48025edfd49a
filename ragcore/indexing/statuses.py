"""The index statuses of the files that are worked on together: read in one request, written in one."""

import logging
import threading
from collections.abc import Callable, Collection

from ragcore.documents import STATUSES, File
from ragcore.errors import NotFound
from ragcore.indexing.status import Callback, Reason, change_of, without_reason
from ragcore.instances import Instance
from ragcore.store import Document, Store

log = logging.getLogger(__name__)

DUPLICATES = "duplicates-by-holder"
MAP = "function (doc) { if (doc.duplicateOf) { emit(doc.duplicateOf); } }"

Change = Callable[[Document], Document | None]


class Statuses:
    """Nothing is read before one of them is asked for. Files may be worked on side by side."""

    def __init__(self, store: Store, instance: Instance, file_ids: Collection[str]) -> None:
        self._store = store
        self._instance = instance
        self._ids = file_ids
        self._found: dict[str, Document] | None = None
        self._changes: dict[str, Change] = {}
        self._lock = threading.Lock()

    def of(self, file_id: str) -> Document:
        """The status of a file; an empty one where there is none. Raises Retryable."""
        with self._lock:
            if self._found is None:
                self._found = self._store.get_many(self._instance, STATUSES, self._ids)
            return self._found.get(file_id, {"_id": file_id})

    def holder(self, file_id: str) -> str:
        """The id of the file that was found to hold the same content, or nothing."""
        return str(self.of(file_id).get("duplicateOf") or "")

    def is_refused(self, file: File) -> bool:
        """Whether this revision is known not to be on openRAG."""
        status = self.of(file.id)
        return status.get("status") == "notsupported" and status.get("docRev") == file.rev

    def refuse(self, file: File, reason: Reason) -> None:
        """A status that says it already is left as it is."""
        if not self.is_refused(file) or self.of(file.id).get("reason") != reason:
            self._changes[file.id] = change_of(Callback(file.id, "notsupported", file.rev, reason))

    def remember_duplicate(self, file_id: str, holder: str) -> None:
        """Logged once: a status that says it already is left as it is."""
        if self.holder(file_id) != holder:
            log.warning("%s: file %s has the content of file %s", self._instance.domain, file_id, holder)
            self._changes[file_id] = lambda doc: {**without_reason(doc), "duplicateOf": holder}

    def report(self, callback: Callback) -> None:
        """What openRAG says of a file; where it says more than one thing, one after the other."""
        change, former = change_of(callback), self._changes.get(callback.file_id)
        self._changes[callback.file_id] = _both(former, change) if former else change

    def is_known(self, file: File) -> bool:
        """Whether an earlier run, or openRAG, said something of the file."""
        return len(self.of(file.id)) > 1

    def uploaded(self, file: File) -> None:
        """What was said against it holds no more; openRAG will say how it went."""
        seen = self.of(file.id)
        if "duplicateOf" in seen or "reason" in seen or self.is_refused(file):
            self._changes[file.id] = lambda doc: _without_objections(doc, seen)

    def save(self) -> None:
        """Writes what changed; what somebody else wrote meanwhile is changed on a fresh read. Raises Retryable."""
        changed = {file_id: change(self.of(file_id)) for file_id, change in self._changes.items()}
        docs = [doc for doc in changed.values() if doc is not None]
        if any("duplicateOf" in doc for doc in docs):
            self._store.make_view(self._instance, STATUSES, DUPLICATES, MAP)
        written = self._store.save_each(self._instance, STATUSES, docs)
        for doc, saved in zip(docs, written, strict=True):
            if saved is None:
                self._store.update(self._instance, STATUSES, doc["_id"], self._changes[doc["_id"]], attempts=10)


def _both(first: Change, second: Change) -> Change:
    def change(doc: Document) -> Document | None:
        changed = first(doc)
        return second(changed or doc) or changed

    return change


def _without_objections(doc: Document, seen: Document) -> Document:
    """What openRAG said since it was seen, of the upload itself, stays."""
    as_seen = all(doc.get(key) == seen.get(key) for key in ("status", "docRev", "lastErrorDate"))
    refused = ("status", "docRev") if as_seen and doc.get("status") == "notsupported" else ()
    return {key: value for key, value in without_reason(doc).items() if key not in ("duplicateOf", *refused)}


def duplicates_of(store: Store, instance: Instance, file_ids: Collection[str]) -> set[str]:
    """The ids of the files that were refused because one of these held their content. Raises Retryable."""
    if not file_ids:
        return set()
    try:
        found = store.view(instance, STATUSES, DUPLICATES, sorted(file_ids))
    except NotFound:  # the view is made with the first duplicate
        return set()
    return {doc["_id"] for doc in found if doc}
