"""One file: what openRAG holds of it made equal to what the scope rule says."""

import io
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO

from ragcore.documents import FILES, STATUSES, File, generation
from ragcore.errors import NotFound, Refused, Retryable
from ragcore.files.notes import indexed_name, is_note, to_markdown
from ragcore.files.records import join
from ragcore.files.storage import Storage
from ragcore.indexing.status import Callback, callback_token, record
from ragcore.instances import Instance
from ragcore.openrag import Duplicate, Exists, OpenRag, Upload
from ragcore.store import Document, Store

log = logging.getLogger(__name__)

MEDIA = ("image", "video", "audio")  # classes that wait for their feature flag


class Outcome(StrEnum):
    INDEXED = "indexed"
    UP_TO_DATE = "up to date"
    REMOVED = "removed"
    DUPLICATE = "duplicates"
    REFUSED = "refused"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class Placed:
    """A file, the absolute path of its parent, and the workspaces that the scope rule puts it in."""

    file: File
    directory: str
    workspaces: frozenset[str]


@dataclass(frozen=True)
class Sync:
    openrag: OpenRag
    store: Store
    storage: Storage
    instance: Instance
    callback_url: str
    media: frozenset[str] = field(default_factory=frozenset)  # classes whose flag is set

    def apply(self, placed: Placed) -> Outcome:
        """Applies the scope rule to one file. Raises Retryable; what is refused for good is logged."""
        if not placed.workspaces or placed.file.trashed:
            return self.remove(placed.file.id)
        if not self._is_indexable(placed.file):
            return self._not_supported(placed.file)
        try:
            return self._index(placed)
        except Refused as error:
            log.warning("%s: file %s is not indexed: %s", self.instance.domain, placed.file.id, error)
            return self._not_supported(placed.file)
        except Duplicate as error:
            return self._duplicate(placed.file, error.holder)

    def remove(self, file_id: str) -> Outcome:
        self.openrag.delete_file(file_id)
        return Outcome.REMOVED

    def _is_indexable(self, file: File) -> bool:
        return not file.encrypted and (file.class_ not in MEDIA or file.class_ in self.media)

    def _not_supported(self, file: File) -> Outcome:
        """What openRAG may hold of an earlier revision is wrong now."""
        if generation(file.rev) > 1:
            self.openrag.delete_file(file.id)
        record(self.store, self.instance, Callback(file.id, "notsupported", file.rev))
        return Outcome.REFUSED

    def _index(self, placed: Placed) -> Outcome:
        remote = self.openrag.file_metadata(placed.file.id)
        if remote is None:
            return self._create(placed)
        if remote.get("md5sum") != placed.file.md5sum:
            return self._replace(placed)
        self._attach(placed)
        sent = metadata_of(placed.file)
        if any(remote.get(key) != sent[key] for key in ("name", "datetime")):
            self._update_metadata(placed.file.id, sent)
        return Outcome.UP_TO_DATE

    def _update_metadata(self, file_id: str, metadata: Document) -> None:
        try:
            self.openrag.update_metadata(file_id, metadata)
        except NotFound as error:
            raise Retryable("the file left openRAG meanwhile") from error

    def _create(self, placed: Placed) -> Outcome:
        try:
            self._send(placed, self.openrag.create_file)
        except Exists:
            return self._replace(placed)
        except NotFound as error:
            raise Retryable("a workspace of the file is gone from openRAG") from error
        return Outcome.INDEXED

    def _replace(self, placed: Placed) -> Outcome:
        try:
            self._send(placed, self.openrag.replace_file)
        except Duplicate:
            # what openRAG has under this id is the old content, and wrong now
            self.openrag.delete_file(placed.file.id)
            raise
        except NotFound as error:
            raise Retryable("the file left openRAG meanwhile") from error
        self._attach(placed)
        return Outcome.INDEXED

    def _send(self, placed: Placed, send: Callable[[Upload], None]) -> None:
        file = placed.file
        note = is_note(file.mime, file.name) and "content" in file.metadata
        with self._note(file) if note else self._content(placed) as content:
            send(
                Upload(
                    file_id=file.id,
                    filename=indexed_name(file.name),
                    content=content,
                    mime="text/markdown" if note else file.mime,
                    metadata=metadata_of(file),
                    callback_url=self.callback_url,
                    callback_token=callback_token(self.instance, file.id),
                    workspace_ids=tuple(sorted(placed.workspaces)),
                )
            )

    def _note(self, file: File) -> BinaryIO:
        """The text of a note is in its document."""
        return io.BytesIO(to_markdown(file.metadata).encode())

    def _content(self, placed: Placed) -> BinaryIO:
        try:
            return self.storage.open(self.instance.domain, join(placed.directory, placed.file.name))
        except NotFound as error:
            raise Refused(str(error)) from error

    def _attach(self, placed: Placed) -> None:
        """Makes the memberships those of the scope rule, whatever the server did with them."""
        try:
            current = self.openrag.file_workspaces(placed.file.id)
            for workspace in placed.workspaces - current:
                self.openrag.add_to_workspace(workspace, placed.file.id)
        except NotFound as error:
            raise Retryable("the file or a workspace left openRAG meanwhile") from error
        for workspace in current - placed.workspaces:
            self.openrag.remove_from_workspace(workspace, placed.file.id)

    def _duplicate(self, file: File, holder: str) -> Outcome:
        def remember(doc: Document) -> Document | None:
            return None if doc.get("duplicateOf") == holder else {**doc, "duplicateOf": holder}

        if self.store.update(self.instance, STATUSES, file.id, remember):
            log.warning("%s: file %s has the content of file %s", self.instance.domain, file.id, holder)
        return Outcome.DUPLICATE


def metadata_of(file: File) -> Document:
    """What openRAG is given, and gives back with the sources and the callback."""
    return {
        "md5sum": file.md5sum,
        "doctype": FILES,
        "doc_rev": file.rev,
        "name": file.name,
        "mimetype": file.mime,
        "datetime": file.datetime,
        "created_at": file.created_at,
    }
