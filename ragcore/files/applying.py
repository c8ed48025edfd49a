"""Carries out the plan of an import. Documents are read and written by batches, each after its contents."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from ragcore.documents import FILES, Directory, is_inside
from ragcore.errors import Conflict, Invalid, NotFound, Retryable
from ragcore.files import records
from ragcore.files.edit import BATCH, TRASH, Editor
from ragcore.files.local import LocalFolder, Unreadable, Warn, reading, shown
from ragcore.files.planning import Known, Plan, Step, Vanished
from ragcore.files.records import join
from ragcore.files.storage import Stored
from ragcore.store import Document

BATCH_BYTES = 64 << 20  # of content, before their documents are written
MEANWHILE = "somebody else has changed it meanwhile"
Progress = Callable[[int], None]
T = TypeVar("T")


@dataclass
class Summary:
    """Counts of files; `folders` were made, moved or trashed, `failed` could not be read or written."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    trashed: int = 0
    unchanged: int = 0
    folders: int = 0
    failed: int = 0
    wrote: bool = field(default=False, repr=False, compare=False)

    def counts(self) -> dict[str, int]:
        return {name: count for name, count in vars(self).items() if name != "wrote"}

    def __str__(self) -> str:
        rare = ("folders", "failed")
        shown = (f"{count} {name}" for name, count in self.counts().items() if count or name not in rare)
        return ", ".join(shown).replace(" 1 folders", " 1 folder")


@dataclass
class Places:
    """The directories of the target: `ids` by the relative paths that they are to have, `paths` (absolute) as they
    stand now, by their ids."""

    ids: dict[str, str]
    paths: dict[str, str]

    def of(self, doc: Document) -> str:
        return join(self.paths[doc["dir_id"]], doc["name"])

    def parent(self, path: str) -> Directory:
        """The directory that a relative path is to be in."""
        dir_id = self.ids[path.rpartition("/")[0]]
        return Directory(dir_id, "", self.paths[dir_id])

    def moved(self, directory: Document) -> None:
        before = self.paths[directory["_id"]]
        for dir_id, path in self.paths.items():
            if is_inside(path, before):
                self.paths[dir_id] = directory["path"] + path.removeprefix(before)


@dataclass(frozen=True)
class _Content:
    """A content in its place, the document that is to say so, and the count of the summary that it belongs to."""

    path: str
    stored: Stored
    doc: Document
    count: str


class Application:
    def __init__(
        self,
        editor: Editor,
        target: Directory,
        local: LocalFolder,
        plan: Plan,
        summary: Summary,
        warn: Warn,
        progress: Progress,
    ) -> None:
        self._editor, self._local, self._plan, self._summary = editor, local, plan, summary
        self._warn, self._progress = warn, progress
        known = plan.known_directories
        ids = {"": target.id} | {path: directory.id for path, directory in known.items()}
        paths = {directory.id: join(target.path, directory.path) for directory in known.values()}
        self._places = Places(ids, paths | {target.id: target.path})

    def run(self) -> None:
        """What moves goes before what is trashed: it may stand in a directory that vanished."""
        for known in self._plan.in_the_way:
            self._put_aside(known)
        self._make_directories()
        for moves in _batches(self._plan.moves):
            self._move(moves)
        for vanished in _batches([v for v in self._plan.trash if not v.known.is_directory]):
            self._trash_files(vanished)
        for directory in (v for v in self._plan.trash if v.known.is_directory):
            self._trash_directory(directory)
        self._write_contents()

    def _put_aside(self, known: Known) -> None:
        doc = self._fresh(known)
        moved = self._editor.move(doc, self._places.parent(known.path), f".{uuid.uuid4().hex}")
        self._summary.wrote = True
        if known.is_directory:
            self._places.moved(moved)
        self._progress(1)

    def _make_directories(self) -> None:
        """In batches, each with the new directories up to the next one that is moved."""
        new: list[Document] = []
        for step in self._plan.directories:
            if step.known or len(new) == BATCH:
                self._save_directories(new)
            if step.known:
                self._move_directory(step.path, step.known)
            elif self._has_parent(step.path):
                new += self._new_directory(step.path)
            self._progress(1)
        self._save_directories(new)

    def _new_directory(self, path: str) -> Iterator[Document]:
        parent, name = self._places.parent(path), _name(path)
        made = Directory(uuid.uuid4().hex, name, join(parent.path, name), parent.id)
        try:
            self._editor.storage.make_directory(self._editor.instance.domain, made.path)
        except Invalid as error:
            return self._failed(path, str(error))
        self._places.ids[path], self._places.paths[made.id] = made.id, made.path
        yield records.new_directory(made)

    def _has_parent(self, path: str) -> bool:
        if path.rpartition("/")[0] in self._places.ids:
            return True
        self._failed(path, "its folder could not be made")
        return False

    def _save_directories(self, new: list[Document]) -> None:
        if new:
            self._editor.store.save_all(self._editor.instance, FILES, new)
            self._summary.wrote = True
            self._summary.folders += len(new)
            new.clear()

    def _move_directory(self, path: str, known: Known) -> None:
        moved = self._editor.move(self._fresh(known), self._places.parent(path), _name(path))
        self._places.moved(moved)
        self._summary.wrote = True
        self._summary.folders += 1
        self._summary.moved += self._plan.moved_along[path]

    def _trash_directory(self, vanished: Vanished) -> None:
        doc = self._fresh(vanished.known)
        self._editor.trash(doc | {"name": _name(vanished.known.path)})
        self._summary.wrote = True
        self._summary.folders += 1
        self._summary.trashed += vanished.files
        self._progress(1)

    def _move(self, steps: list[Step]) -> None:
        docs = self._documents(step.known for step in steps)
        moves = []
        for step in steps:
            if step.known and (doc := docs.get(step.known.id)) and self._has_parent(step.path):
                after = join(self._places.parent(step.path).path, _name(step.path))
                moved = records.moved(doc, self._places.parent(step.path), _name(step.path))
                moves.append((step.path, doc, after, moved | {"updated_at": self._local.files[step.path].updated_at}))
        self._save_moved(moves, "moved")
        self._progress(len(steps))

    def _trash_files(self, vanished: list[Vanished]) -> None:
        docs = self._documents(v.known for v in vanished)
        here = [(v.known.path, docs[v.known.id]) for v in vanished if v.known.id in docs]
        names = self._editor.free_names(TRASH, [_name(path) for path, _ in here])
        moves = []
        for (path, doc), name in zip(here, names, strict=True):
            fields = records.trashed(doc, self._places.paths[doc["dir_id"]])
            moves.append((path, doc, join(TRASH.path, name), records.moved(doc, TRASH, name, **fields)))
        self._save_moved(moves, "trashed")
        self._progress(len(vanished))

    def _save_moved(self, moves: list[tuple[str, Document, str, Document]], count: str) -> None:
        """Moves contents to absolute paths, then saves the documents that say so."""
        storage, domain = self._editor.storage, self._editor.instance.domain
        done = []
        for move in moves:
            path, doc, after, _ = move
            try:
                with suppress(NotFound):  # a content that was lost stays lost, whatever the tree is like
                    storage.move(domain, self._places.of(doc), after)
                done.append(move)
            except Invalid as error:
                self._failed(path, str(error))
        saved = self._editor.store.save_each(self._editor.instance, FILES, [moved for *_, moved in done])
        for (path, doc, after, _), written in zip(done, saved, strict=True):
            if written:
                self._count(count)
            else:
                with suppress(NotFound):
                    storage.move(domain, after, self._places.of(doc))
                self._failed(path, MEANWHILE)

    def _write_contents(self) -> None:
        sizes = {step.path: self._local.files[step.path].size for step in self._plan.contents}
        for steps in _batches(self._plan.contents, lambda step: sizes[step.path]):
            docs = self._documents(step.known for step in steps)
            written: list[_Content] = []
            try:
                for step in steps:
                    if self._has_parent(step.path) and (step.known is None or step.known.id in docs):
                        written += self._content(step, docs[step.known.id] if step.known else None)
            finally:  # when the disk is full, say, what was written so far has its documents
                self._save_contents(written)

    def _content(self, step: Step, doc: Document | None) -> Iterator[_Content]:
        """Nothing, and a warning, when the local file cannot be read."""
        parent, left = self._places.parent(step.path), self._local.files[step.path].size
        place = join(parent.path, _name(step.path))
        if doc and self._places.of(doc) != place:
            return self._failed(step.path, MEANWHILE)

        def told(size: int) -> None:
            nonlocal left
            done = min(size, left)
            left -= done
            self._progress(done)

        try:
            with reading(self._local.place(step.path), told) as file:
                stored = self._editor.storage.write(self._editor.instance.domain, place, file)
        except (Unreadable, Invalid) as error:
            self._failed(step.path, str(error))
        else:
            yield self._described(step.path, parent.id, stored, file.described.updated_at, doc)
        self._progress(left + 1)

    def _described(self, path: str, dir_id: str, stored: Stored, time: str, doc: Document | None) -> _Content:
        if doc is None:
            new = records.new_file(dir_id, _name(path), stored, created_at=time, updated_at=time)
            return _Content(path, stored, new, "added")
        count = "unchanged" if doc.get("md5sum") == stored.md5sum else "changed"
        return _Content(path, stored, records.with_content(doc, stored, updated_at=time), count)

    def _save_contents(self, written: list[_Content]) -> None:
        docs = [content.doc for content in written]
        try:
            saved = self._editor.store.save_each(self._editor.instance, FILES, docs)
        except Retryable:  # they may have been written all the same
            for content in written:
                content.stored.keep()
            raise
        for content, done in zip(written, saved, strict=True):
            if done:
                content.stored.keep()
                self._count(content.count)
            else:
                content.stored.undo()
                self._failed(content.path, MEANWHILE)

    def _fresh(self, directory: Known) -> Document:
        """Raises Conflict when it is not where it was: then nothing is known about what is in it."""
        docs = self._editor.store.get_many(self._editor.instance, FILES, [directory.id])
        doc = docs.get(directory.id, {})
        if doc.get("dir_id") not in self._places.paths:
            raise Conflict(f"{shown(directory.path)}: {MEANWHILE}; import again")
        return doc

    def _documents(self, knowns: Iterable[Known | None]) -> dict[str, Document]:
        """Fresh documents, by id; without those that are no longer in the folder, with a warning."""
        paths = {known.id: known.path for known in knowns if known}
        docs = self._editor.store.get_many(self._editor.instance, FILES, paths)
        here = {doc_id: doc for doc_id, doc in docs.items() if doc.get("dir_id") in self._places.paths}
        for doc_id in paths.keys() - here.keys():
            self._failed(paths[doc_id], MEANWHILE)
        return here

    def _count(self, name: str) -> None:
        self._summary.wrote = True
        setattr(self._summary, name, getattr(self._summary, name) + 1)

    def _failed(self, path: str, why: str) -> None:
        self._summary.failed += 1
        self._warn(f"{shown(path)} is left as it was: {why}")


def _batches(items: list[T], bytes_of: Callable[[T], int] = lambda item: 0) -> Iterator[list[T]]:
    batch: list[T] = []
    size = 0
    for item in items:
        if batch and (len(batch) == BATCH or size + bytes_of(item) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += bytes_of(item)
    if batch:
        yield batch


def _name(path: str) -> str:
    return path.rpartition("/")[2]
