"""The content of files, under `fs.url`: `<fs.url>/<domain>/<path of the parent>/<name>`."""

import base64
import errno
import hashlib
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from ragcore.errors import Full, Invalid, NotFound, RagcoreError, Retryable

PIECE = 1 << 20  # bytes
ABANDONED = 24 * 3600  # seconds
FOLDER = os.O_PATH | os.O_DIRECTORY
TEMPORARY = ".tmp"  # beside the instances' folders: no domain begins with a dot


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Received:
    """Content that stands aside, not in its place yet: bytes, and the md5 as the documents hold it (base64)."""

    size: int
    md5sum: str
    aside: Path


@dataclass(frozen=True)
class Stored:
    """What was written: bytes, and the md5 as the documents hold it (base64).

    The content that stood there before is at hand until `keep` or `undo` is called: its document is not written yet.
    """

    size: int
    md5sum: str
    place: Path
    former: Path

    def keep(self) -> None:
        self.former.unlink(missing_ok=True)

    def undo(self) -> None:
        if self.former.exists():
            self.former.replace(self.place)
        else:
            self.place.unlink(missing_ok=True)


class Storage:
    """A `file://` storage. Links are not followed out of an instance's folder.

    Paths are absolute in the instance (`/Documents/a.txt`). Raises NotFound when content is missing, Retryable when
    the storage cannot be reached or written, Invalid when a path is too long for it. Who writes has made sure, by
    the documents, that a place is free: what a process that was killed left there is taken away.
    """

    def __init__(self, url: str) -> None:
        self.root = Path(unquote(urlsplit(url).path))

    def open(self, domain: str, path: str) -> BinaryIO:
        with self._told():
            try:
                return _open(self.root / domain, path)
            except OSError as error:
                if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
                    raise FileNotFoundError from None  # no content can be there, however often it is looked for
                raise

    def write(self, domain: str, path: str, content: Readable) -> Stored:
        """Copies the content aside, then puts it in its place at once: a half-written file is never seen."""
        with self.receiving(content) as received:
            return self._put(domain, path, received)

    @contextmanager
    def receiving(self, content: Readable) -> Iterator[Received]:
        """Copies content aside; what was not put in its place inside the context is gone after it."""
        aside = self._aside()
        try:
            with self._told():
                aside.parent.mkdir(parents=True, exist_ok=True)
                size, md5sum = _copy(content, aside)
            yield Received(size, md5sum, aside)
        finally:
            aside.unlink(missing_ok=True)

    def _put(self, domain: str, path: str, received: Received) -> Stored:
        place, former = self._place(domain, path), self._aside()
        with self._told():
            place.parent.mkdir(parents=True, exist_ok=True)
            _clear(place, directory=False)
            if place.exists():
                former.hardlink_to(place)
            received.aside.replace(place)
        return Stored(received.size, received.md5sum, place, former)

    @contextmanager
    def writing(self, domain: str, path: str, content: Readable) -> Iterator[Stored]:
        """Writes content, then its document, inside the context, as `placing` does."""
        with self.receiving(content) as received, self.placing(domain, path, received) as stored:
            yield stored

    @contextmanager
    def placing(self, domain: str, path: str, received: Received) -> Iterator[Stored]:
        """Puts content in its place, then its document is written, inside the context: the former content is back
        when that was refused.

        After a Retryable the document may have been written all the same, so the new content stays.
        """
        stored = self._put(domain, path, received)
        try:
            yield stored
        except Retryable:
            raise
        except RagcoreError:
            stored.undo()
            raise
        finally:
            stored.keep()

    def make_directory(self, domain: str, path: str) -> None:
        with self._told():
            place = self._place(domain, path)
            _clear(place, directory=True)
            place.mkdir(parents=True, exist_ok=True)

    def move(self, domain: str, path: str, to: str) -> None:
        """Moves a file, or a directory with all that is in it. One that was moved there already is fine."""
        with self._told():
            place, target = self._place(domain, path), self._place(domain, to)
            if not place.exists() and target.exists():
                return  # by a process that was killed before it could write the documents
            target.parent.mkdir(parents=True, exist_ok=True)
            _clear(target, directory=place.is_dir())
            place.rename(target)

    def delete(self, domain: str, path: str) -> None:
        """Deletes a file, or a directory with all that is in it. One that is gone is fine."""
        place = self._place(domain, path)
        with self._told():
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Deletes what processes that were killed have left aside, a day ago or longer."""
        for left in (self.root / TEMPORARY).glob("*"):
            if left.lstat().st_mtime < time.time() - ABANDONED:
                left.unlink(missing_ok=True)

    def _aside(self) -> Path:
        return self.root / TEMPORARY / uuid.uuid4().hex

    def _place(self, domain: str, path: str) -> Path:
        home = self.root / domain
        place = home / path.lstrip("/")
        if not _resolved(place).is_relative_to(_resolved(home)):
            raise NotFound("the content of the file is missing from the storage")
        return place

    @contextmanager
    def _told(self) -> Iterator[None]:
        """An error of the file system, without the paths of this machine."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
            if not self.root.is_dir():
                raise Retryable("the storage of the files cannot be reached") from None
            raise NotFound("the content of the file is missing from the storage") from None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise Invalid("the path is too long for the storage of the files") from None
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Full("the storage of the files is full") from None
            raise Retryable(f"the storage of the files cannot be used ({error.strerror})") from None


def _resolved(place: Path) -> Path:
    return Path(os.path.realpath(place))  # unlike Path.resolve, links that lead to each other are no RuntimeError


def _open(home: Path, path: str) -> BinaryIO:
    """Reads what stands below `home`, folder by folder: a link that is put there meanwhile leads nowhere.

    A link that stays inside is resolved before; what is no file is missing, and nobody waits for its writer.
    """
    home = _resolved(home)
    *folders, name = _resolved(home / path.lstrip("/")).relative_to(home).parts or ("",)
    at = os.open(home, FOLDER)
    try:
        for folder in folders:
            above, at = at, os.open(folder, FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(above)
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError
    return os.fdopen(file, "rb")


def _copy(content: Readable, to: Path) -> tuple[int, str]:
    md5, size = hashlib.md5(usedforsecurity=False), 0
    with to.open("xb") as file:
        while piece := content.read(PIECE):
            file.write(piece)
            md5.update(piece)
            size += len(piece)
    return size, base64.b64encode(md5.digest()).decode()


def _clear(place: Path, directory: bool) -> None:
    """Takes away what stands where something of the other kind comes: a file, or directories without files."""
    if not directory and place.is_dir():
        for below, _, _ in os.walk(place, topdown=False):
            os.rmdir(below)
    elif directory and place.is_file():
        place.unlink()
