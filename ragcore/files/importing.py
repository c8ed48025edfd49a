"""Makes a folder of an instance equal to a local folder, writing only what changed, moved or vanished.

A file is unchanged when its size and its time are those of the document (`updated_at`, in milliseconds): its content
is not read then. What vanished goes to the trash; what vanished here and came there, with the same content, was moved.
"""

import hashlib
import os
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ragcore.documents import Directory
from ragcore.errors import RagcoreError
from ragcore.files.edit import Editor, check_name
from ragcore.files.storage import PIECE
from ragcore.store import Document
from ragcore.units import isoformat

Warn = Callable[[str], None]


@dataclass(frozen=True)
class Local:
    """A local file: where it is, and what its document will say of it."""

    place: Path
    size: int
    updated_at: str


@dataclass
class Folder:
    """What stands below a folder, by relative path (`Home/a.txt`); a directory's path comes before its children's."""

    directories: dict[str, Path] = field(default_factory=dict)
    files: dict[str, Local] = field(default_factory=dict)


@dataclass
class Known:
    """The same of the instance, as documents."""

    directories: dict[str, Document] = field(default_factory=dict)
    files: dict[str, Document] = field(default_factory=dict)


@dataclass
class Summary:
    added: int = 0
    changed: int = 0
    moved: int = 0
    trashed: int = 0
    unchanged: int = 0
    folders: int = 0
    failed: int = 0

    @property
    def wrote(self) -> bool:
        return bool(self.added or self.changed or self.moved or self.trashed or self.folders)

    def __str__(self) -> str:
        counts = (f"{count} {name}" for name, count in vars(self).items() if count or name == "added")
        return ", ".join(counts)


def read_local(root: Path, warn: Warn) -> Folder:
    """Links, special files and names that are no text are left out, with a warning each."""
    found = Folder()
    waiting = [("", root)]
    while waiting:
        relative, place = waiting.pop()
        for entry in _entries(place, warn):
            if not _is_taken(entry, warn):
                continue
            path = f"{relative}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                found.directories[path] = Path(entry.path)
                waiting.append((f"{path}/", Path(entry.path)))
            else:
                status = entry.stat(follow_symlinks=False)
                found.files[path] = Local(Path(entry.path), status.st_size, _time(status))
    return found


def _entries(place: Path, warn: Warn) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        warn(f"{_shown(str(place))} cannot be read ({error.strerror})")
        raise RagcoreError("nothing was written: a folder that cannot be read would look empty") from None


def _is_taken(entry: os.DirEntry[str], warn: Warn) -> bool:
    try:
        check_name(entry.name)
        entry.name.encode()
    except (RagcoreError, UnicodeEncodeError):
        warn(f"{_shown(entry.path)} is left out: its name is not UTF-8")
        return False
    if entry.is_symlink():
        warn(f"{entry.path} is left out: links are not followed")
        return False
    if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
        warn(f"{entry.path} is left out: it is neither a file nor a folder")
        return False
    return True


def _shown(path: str) -> str:
    return path.encode(errors="backslashreplace").decode()


def _time(status: os.stat_result) -> str:
    return isoformat(datetime.fromtimestamp(status.st_mtime_ns // 1_000_000 / 1000, UTC))


class Importer:
    """`progress` is told of each local file that is done, and whether it failed."""

    def __init__(self, editor: Editor, target: Directory, warn: Warn, progress: Callable[[], None]) -> None:
        self._editor = editor
        self._target = target
        self._warn = warn
        self._progress = progress
        self.summary = Summary()

    def run(self, local: Folder) -> Summary:
        known = self._read_known()
        self._make_room(local, known)
        vanished = {path: known.files.pop(path) for path in known.files.keys() - local.files.keys()}
        directories = self._directories(local, known)
        movable = _by_content(vanished)
        for path, file in local.files.items():
            self._one(path, file, known.files.get(path), directories, movable)
            self._progress()
        self._trash_vanished(vanished, movable, local, known)
        return self.summary

    def _read_known(self) -> Known:
        known, waiting = Known(), [("", self._target.id)]
        while waiting:
            relative, dir_id = waiting.pop()
            for doc in (doc for page in self._editor.tree.children(dir_id) for doc in page):
                if doc["_id"].startswith("io.cozy.files.") or not doc.get("name"):
                    continue  # the trash and the like are nobody's copy
                path = f"{relative}{doc['name']}"
                if doc["type"] == "directory":
                    known.directories[path] = doc
                    waiting.append((f"{path}/", doc["_id"]))
                else:
                    known.files[path] = doc
        return known

    def _make_room(self, local: Folder, known: Known) -> None:
        """A file where a directory was, or the reverse: what was there goes to the trash first."""
        for path in sorted(known.directories.keys() & local.files.keys()):
            if path in known.directories:
                self._trash(known.directories[path])
                _forget_below(known, path)
        for path in known.files.keys() & local.directories.keys():
            self._trash(known.files.pop(path))

    def _directories(self, local: Folder, known: Known) -> dict[str, Directory]:
        """The directory of each relative path, made when it is missing."""
        made = {"": self._target}
        for path in local.directories:
            if path in known.directories:
                made[path] = Directory.from_document(known.directories[path])
            else:
                parent, _, name = path.rpartition("/")
                made[path] = self._editor.add_directory(made[parent], name)
                self.summary.folders += 1
        return made

    def _one(
        self,
        path: str,
        file: Local,
        known: Document | None,
        directories: dict[str, Directory],
        movable: dict[tuple[str, str], list[Document]],
    ) -> None:
        parent, _, name = path.rpartition("/")
        try:
            if known is None:
                self._add(directories[parent], name, file, movable)
            elif (int(known.get("size") or 0), known.get("updated_at")) == (file.size, file.updated_at):
                self.summary.unchanged += 1
            else:
                self._change(known, directories[parent], file)
        except (OSError, RagcoreError) as error:
            self.summary.failed += 1
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self._warn(f"{file.place} is not imported: {reason}")

    def _add(self, parent: Directory, name: str, file: Local, movable: dict[tuple[str, str], list[Document]]) -> None:
        if moved := self._take_moved(movable, file, name):
            self._editor.move(moved, parent, name, updated_at=file.updated_at)
            self.summary.moved += 1
            return
        with file.place.open("rb") as content:
            self._editor.add_file(parent, name, content, created_at=file.updated_at, updated_at=file.updated_at)
        self.summary.added += 1

    def _take_moved(self, movable: dict[tuple[str, str], list[Document]], file: Local, name: str) -> Document | None:
        """A document that vanished elsewhere and has this content, rather one of the same name."""
        if not any(size == str(file.size) for size, _ in movable):
            return None
        candidates = movable.get((str(file.size), _md5sum(file.place)), [])
        found = next((doc for doc in candidates if doc["name"] == name), candidates[0] if candidates else None)
        if found:
            candidates.remove(found)
        return found

    def _change(self, known: Document, parent: Directory, file: Local) -> None:
        if int(known["size"]) == file.size and known["md5sum"] == _md5sum(file.place):
            self.summary.unchanged += 1
            return
        with file.place.open("rb") as content:
            self._editor.replace_content(known, content, updated_at=file.updated_at)
        self.summary.changed += 1

    def _trash_vanished(
        self,
        vanished: dict[str, Document],
        movable: dict[tuple[str, str], list[Document]],
        local: Folder,
        known: Known,
    ) -> None:
        """The directories that vanished, each with what is left in it, then the files that were not moved."""
        left = {doc["_id"] for docs in movable.values() for doc in docs}
        gone = sorted(known.directories.keys() - local.directories.keys())
        for path in gone:
            if path.rpartition("/")[0] not in gone:
                self._trash(known.directories[path])
        for path, doc in vanished.items():
            inside_gone = any(path.startswith(f"{directory}/") for directory in gone)
            if doc["_id"] in left and not inside_gone:
                self._trash(doc)

    def _trash(self, doc: Document) -> None:
        self._editor.trash(doc)
        self.summary.trashed += 1


def _forget_below(known: Known, path: str) -> None:
    for entries in (known.directories, known.files):
        for below in [p for p in entries if p == path or p.startswith(f"{path}/")]:
            del entries[below]


def _by_content(vanished: dict[str, Document]) -> dict[tuple[str, str], list[Document]]:
    """Vanished documents by size and md5."""
    found = defaultdict(list)
    for doc in vanished.values():
        found[doc["size"], doc["md5sum"]].append(doc)
    return found


def _md5sum(place: Path) -> str:
    md5 = hashlib.md5(usedforsecurity=False)
    with place.open("rb") as file:
        while piece := file.read(PIECE):
            md5.update(piece)
    return b64encode(md5.digest()).decode()


def import_folder(editor: Editor, local: Folder, path: str, warn: Warn, progress: Callable[[], None]) -> Summary:
    """Makes the folder at `path` equal to a local one."""
    return Importer(editor, editor.mkdir(path), warn, progress).run(local)
