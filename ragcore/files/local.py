"""A local folder that is imported: what stands in it, and the reading of its files."""

import base64
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

from ragcore.errors import Invalid, RagcoreError
from ragcore.files.records import check_name
from ragcore.files.storage import PIECE
from ragcore.units import isoformat

Warn = Callable[[str], None]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = (int((datetime(year, 1, 2) - datetime(1970, 1, 1)).total_seconds()) for year in (1, 9999))


class Unreadable(RagcoreError):
    """A local file or folder that cannot be read, or not as a whole."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """Size in bytes, and the time of its content as its document keeps it."""

    size: int
    updated_at: str


@dataclass
class LocalFolder:
    """What stands below a folder, by relative path (`Home/a.txt`).

    `unknown` are the files and directories that could not be read: what is in them is not known to have vanished.
    """

    root: str
    directories: set[str] = field(default_factory=set)
    files: dict[str, LocalFile] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    def place(self, path: str) -> str:
        return os.path.join(self.root, path) if path else self.root


def read_local(root: str, warn: Warn, reserved: str = "") -> LocalFolder:
    """Links, special files and names that are no text are left out, with a warning each; so is the path `reserved`.

    Raises Invalid when the folder itself cannot be read.
    """
    found, waiting = LocalFolder(root), [""]
    while waiting:
        directory = waiting.pop()
        try:
            entries = _entries(found.place(directory))
        except OSError as error:
            if not directory:
                raise Invalid(f"{shown(root)} cannot be read ({error.strerror})") from None
            found.unknown.add(directory)
            warn(f"{shown(directory)} cannot be read ({error.strerror}): what is in it stays as it was")
            continue
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            if path == reserved:
                warn(f"{shown(path)} is left out: it has the name of the trash")
            elif _add(found, path, entry, warn):
                waiting.append(path)
    return found


def _entries(place: str) -> list[os.DirEntry[str]]:
    with os.scandir(place) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _add(found: LocalFolder, path: str, entry: os.DirEntry[str], warn: Warn) -> bool:
    """Takes an entry in: whether it is a directory to be read."""
    try:
        check_name(entry.name)
        status = entry.stat(follow_symlinks=False)
    except Invalid:
        warn(f"{shown(path)} is left out: its name is not UTF-8")
        return False
    except OSError as error:
        found.unknown.add(path)
        warn(f"{shown(path)} cannot be read ({error.strerror})")
        return False
    if stat.S_ISDIR(status.st_mode):
        found.directories.add(path)
        return True
    if stat.S_ISREG(status.st_mode):
        found.files[path] = _described(status)
    elif stat.S_ISLNK(status.st_mode):
        warn(f"{shown(path)} is left out: links are not followed")
    else:
        warn(f"{shown(path)} is left out: it is neither a file nor a folder")
    return False


def _described(status: os.stat_result) -> LocalFile:
    seconds, nanoseconds = divmod(status.st_mtime_ns, 1_000_000_000)
    moment = timedelta(seconds=min(max(seconds, FIRST), LAST), microseconds=nanoseconds // 1000)
    return LocalFile(status.st_size, isoformat(EPOCH + moment))


def shown(path: str) -> str:
    """A path as a terminal can show it: on one line, and nothing in it is a command to the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)


class Reading:
    """A file that is open; `read` raises Unreadable when it is changed meanwhile."""

    def __init__(self, file: BinaryIO, told: Callable[[int], None]) -> None:
        self._file = file
        self._told = told
        self._read = 0
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("it is no longer a file")
        self.described = _described(status)
        self._before = (status.st_size, status.st_mtime_ns)

    def read(self, size: int, /) -> bytes:
        try:
            piece = self._file.read(size)
            status = os.fstat(self._file.fileno())
        except OSError as error:
            raise Unreadable(f"it cannot be read ({error.strerror})") from None
        self._read += len(piece)
        if (status.st_size, status.st_mtime_ns) != self._before or not piece and self._read != status.st_size:
            raise Unreadable("it was changed while it was read")
        self._told(len(piece))
        return piece


@contextmanager
def reading(place: str, told: Callable[[int], None] = lambda size: None) -> Iterator[Reading]:
    """Opens a local file; `told` is called with the bytes that are read. Raises Unreadable."""
    # neither following a link nor waiting for a writer, should the file have become a link or a FIFO
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.fdopen(os.open(place, flags), "rb")
    except OSError as error:
        raise Unreadable(f"it cannot be read ({error.strerror})") from None
    with file:
        yield Reading(file, told)


def md5_of(local: LocalFolder, path: str) -> str | None:
    """The md5 of a file as the documents hold it (base64); None when the file is no longer what was listed."""
    md5 = hashlib.md5(usedforsecurity=False)
    try:
        with reading(local.place(path)) as file:
            while piece := file.read(PIECE):
                md5.update(piece)
            return base64.b64encode(md5.digest()).decode() if file.described == local.files[path] else None
    except Unreadable:
        return None
