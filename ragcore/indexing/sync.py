"""One file: what openRAG holds of it made equal to what the scope rule says."""

import io
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO

from ragcore.documents import FILES, File, generation
from ragcore.errors import NotFound, Refused, Retryable
from ragcore.files.checked import Changed, Checked
from ragcore.files.notes import indexed_name, is_note, to_markdown
from ragcore.files.records import join
from ragcore.files.storage import Storage
from ragcore.indexing.memberships import Memberships
from ragcore.indexing.status import Reason, callback_token
from ragcore.indexing.statuses import Statuses
from ragcore.indexing.uploads import Uploads, digest_of
from ragcore.instances import Instance
from ragcore.openrag import Duplicate, Exists, OpenRag, TooLarge, Upload
from ragcore.store import Document

log = logging.getLogger(__name__)

NOTHING: Mapping[str, str] = {}
MEDIA = ("image", "video", "audio")  # classes that wait for their feature flag


class Outcome(StrEnum):
    INDEXED = "indexed"
    UP_TO_DATE = "up to date"
    REMOVED = "removed"
    DUPLICATE = "duplicates"
    REFUSED = "refused"
    SKIPPED = "skipped"
    FAILED = "failed"


class Missing(Refused):
    """The file has no content."""


@dataclass(frozen=True)
class Placed:
    """A file, the absolute path of its parent, and the workspaces that the scope rule puts it in."""

    file: File
    directory: str
    workspaces: frozenset[str]


@dataclass(frozen=True)
class Sync:
    """Makes openRAG equal for one file. Calls for different files may run side by side."""

    openrag: OpenRag
    storage: Storage
    instance: Instance
    uploads: Uploads
    memberships: Memberships
    callback_url: str
    media: frozenset[str] = field(default_factory=frozenset)  # classes whose flag is set

    def apply(self, placed: Placed, statuses: Statuses, released: Mapping[str, str] = NOTHING) -> Outcome:
        """Applies the scope rule to one file. Raises Retryable; what is refused for good is logged.

        `released` are files whose former content has left openRAG, or is leaving it, with the md5sum of the new one.
        """
        file = placed.file
        if not placed.workspaces or file.trashed:
            return self.remove(file.id)
        if reason := self._objection(file):
            return self._not_supported(file, statuses, reason)
        try:
            return self._index(placed, statuses, released)
        except Refused as error:
            log.warning("%s: file %s is not indexed: %s", self.instance.domain, file.id, error)
            return self._not_supported(file, statuses, _reason(error))
        except Duplicate as error:
            if released.get(error.holder, file.md5sum) != file.md5sum:
                raise Retryable(f"file {error.holder} still holds the content that it is losing") from error
            statuses.remember_duplicate(file.id, error.holder)
            return Outcome.DUPLICATE

    def remove(self, file_id: str) -> Outcome:
        """Raises Retryable while its first indexing runs: until then openRAG knows nothing to remove."""
        sent = self.uploads.of(file_id)  # asked first: its indexing may end in between
        removed = self.openrag.delete_file(file_id)
        if sent.digest:
            if not removed and (sent.taken or self._overtake(file_id)):
                raise Retryable("it is still being indexed, and cannot be removed yet")
            self.uploads.ended(file_id)  # no callback is to come of what is gone
        return Outcome.REMOVED

    def _overtake(self, file_id: str) -> bool:
        """Whether openRAG took an upload of which nobody knows: only a PUT tells, and is indexed in its place."""
        try:
            with self.uploads.sending(file_id, digest_of(Outcome.REMOVED), "PUT"):
                self.openrag.replace_file(
                    Upload(file_id, "removed.txt", io.BytesIO(file_id.encode()), "text/plain", {})
                )
        except NotFound:
            return False
        return True

    def _objection(self, file: File) -> Reason | None:
        """Why a file is not sent at all."""
        if file.encrypted:
            return Reason.ENCRYPTED
        return Reason.MEDIA if file.class_ in MEDIA and file.class_ not in self.media else None

    def _not_supported(self, file: File, statuses: Statuses, reason: Reason) -> Outcome:
        """What openRAG may hold of an earlier revision, or from before a flag was taken back, is wrong now."""
        if not statuses.is_refused(file) and (generation(file.rev) > 1 or statuses.is_known(file)):
            self.remove(file.id)
        statuses.refuse(file, reason)
        return Outcome.REFUSED

    def _index(self, placed: Placed, statuses: Statuses, released: Mapping[str, str]) -> Outcome:
        """A file that openRAG hardly knows is sent without asking for it first: its answer tells the same."""
        file, create = placed.file, self._create
        if self.memberships.have_none_of(file.id) and not statuses.is_known(file):
            with suppress(Exists):
                return self._index_new(placed, statuses, released, self._post)
            create = self._replace_in_progress
        remote = self.openrag.file_metadata(file.id)
        if remote is None:
            return self._index_new(placed, statuses, released, create)
        if remote.get("md5sum") != file.md5sum:
            outcome = self._replace_or_create(placed)
            statuses.uploaded(file)
            return outcome
        if not self.memberships.are_known_as(file.id, placed.workspaces):
            self.attach(placed)
        self._update_metadata(file, remote)
        return Outcome.UP_TO_DATE

    def _index_new(
        self, placed: Placed, statuses: Statuses, released: Mapping[str, str], create: Callable[[Placed], Outcome]
    ) -> Outcome:
        if self._is_held(placed.file, statuses.holder(placed.file.id), released):
            return Outcome.DUPLICATE
        outcome = create(placed)
        statuses.uploaded(placed.file)
        return outcome

    def _is_held(self, file: File, holder: str, released: Mapping[str, str]) -> bool:
        """Whether the file that was found to hold the content of this one still does: it is not sent again then."""
        if not holder:
            return False
        if holder in released:
            return released[holder] == file.md5sum
        return (self.openrag.file_metadata(holder) or {}).get("md5sum") == file.md5sum

    def _update_metadata(self, file: File, remote: Document) -> None:
        """Sources show the current name and date."""
        sent = metadata_of(file)
        if all(remote.get(key) == sent[key] for key in ("name", "datetime")):
            return
        try:
            self.openrag.update_metadata(file.id, sent)
        except NotFound as error:
            raise Retryable("the file left openRAG meanwhile") from error

    def _create(self, placed: Placed) -> Outcome:
        try:
            return self._post(placed)
        except Exists:
            return self._replace_in_progress(placed)

    def _post(self, placed: Placed) -> Outcome:
        """Raises Exists."""
        try:
            self._send(placed, "POST")
        except NotFound as error:
            raise Retryable("a workspace of the file is gone from openRAG") from error
        return Outcome.INDEXED

    def _replace_in_progress(self, placed: Placed) -> Outcome:
        """An earlier upload is still being indexed: it is replaced, unless it is known to hold the same."""
        sent = self.uploads.of(placed.file.id)
        if sent.digest != _digest(placed) or not (sent.taken or sent.alone):
            try:
                return self._replace(placed)
            except NotFound as error:
                raise Retryable("the file left openRAG meanwhile") from error
        if sent.method == "PUT":
            raise Retryable("its workspaces cannot be compared before it is indexed")
        return Outcome.UP_TO_DATE

    def _replace_or_create(self, placed: Placed) -> Outcome:
        """A PUT of a file that is not known any more: it is sent with POST."""
        try:
            return self._replace(placed)
        except NotFound:
            return self._create(placed)

    def _replace(self, placed: Placed) -> Outcome:
        """Raises NotFound when the file is not known."""
        try:
            self._send(placed, "PUT")
        except Duplicate:
            # what openRAG has under this id is the old content, and wrong now
            self.remove(placed.file.id)
            raise
        self.attach(placed)
        return Outcome.INDEXED

    def _send(self, placed: Placed, method: str) -> None:
        file = placed.file
        send = self.openrag.create_file if method == "POST" else self.openrag.replace_file
        note = is_note(file.mime, file.name) and "content" in file.metadata
        with (
            self._note(file) if note else self._content(placed) as content,
            self.uploads.sending(file.id, _digest(placed), method),
        ):
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

    def _content(self, placed: Placed) -> Checked:
        file = placed.file
        try:
            content = self.storage.open(self.instance.domain, join(placed.directory, file.name))
        except NotFound as error:
            raise Missing(str(error)) from error
        return Checked(content, file.size, file.md5sum)

    def attach(self, placed: Placed) -> Outcome:
        """Makes the memberships those of the scope rule, whatever the server did with them."""
        file_id = placed.file.id
        try:
            current = self.openrag.file_workspaces(file_id)
            for workspace in placed.workspaces - current:
                self.openrag.add_to_workspace(workspace, file_id)
        except NotFound as error:
            raise Retryable("the file is still being indexed, or a workspace is gone") from error
        for workspace in current - placed.workspaces:
            self.openrag.remove_from_workspace(workspace, file_id)
        return Outcome.UP_TO_DATE


def _reason(error: Refused) -> Reason:
    if isinstance(error, TooLarge):
        return Reason.TOO_LARGE
    if isinstance(error, Changed):
        return Reason.CHANGED
    return Reason.MISSING if isinstance(error, Missing) else Reason.FORMAT


def _digest(placed: Placed) -> str:
    """Of what an upload says of a file, its revision aside."""
    file = placed.file
    return digest_of(file.md5sum, file.name, file.datetime, sorted(placed.workspaces))


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
