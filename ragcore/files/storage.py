"""The content of files, under `fs.url`: `<fs.url>/<domain>/<path of the parent>/<name>`."""

import base64
import hashlib
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from ragcore.errors import NotFound, Retryable

PIECE = 1 << 20  # bytes
TEMPORARY = ".tmp"  # beside the instances' folders: no domain begins with a dot


@dataclass(frozen=True)
class Stored:
    """What was written: bytes, and the md5 as the documents hold it (base64)."""

    size: int
    md5sum: str


class Storage:
    """A `file://` storage. Links are not followed out of an instance's folder.

    Paths are absolute in the instance (`/Documents/a.txt`). Raises NotFound when content is missing, Retryable when
    the storage cannot be reached or written.
    """

    def __init__(self, url: str) -> None:
        self.root = Path(unquote(urlsplit(url).path))

    def open(self, domain: str, path: str) -> BinaryIO:
        with self._told():
            return self._place(domain, path).open("rb")

    @contextmanager
    def writing(self, domain: str, path: str, content: BinaryIO) -> Iterator[Stored]:
        """Writes content aside; it takes its place when the context is left well, and vanishes otherwise.

        So a document can be written in between, and a half-written file is never seen.
        """
        place = self._place(domain, path)
        aside = self.root / TEMPORARY / uuid.uuid4().hex
        try:
            with self._told():
                aside.parent.mkdir(parents=True, exist_ok=True)
                stored = _copy(content, aside)
                place.parent.mkdir(parents=True, exist_ok=True)
            yield stored
            with self._told():
                aside.replace(place)
        finally:
            aside.unlink(missing_ok=True)

    def make_directory(self, domain: str, path: str) -> None:
        with self._told():
            self._place(domain, path).mkdir(parents=True, exist_ok=True)

    def move(self, domain: str, path: str, to: str) -> None:
        """Moves a file, or a directory with all that is in it."""
        with self._told():
            place = self._place(domain, to)
            place.parent.mkdir(parents=True, exist_ok=True)
            self._place(domain, path).rename(place)

    def delete(self, domain: str, path: str) -> None:
        """Deletes a file, or a directory with all that is in it. One that is gone is fine."""
        place = self._place(domain, path)
        with self._told():
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)

    def _place(self, domain: str, path: str) -> Path:
        home = self.root / domain
        place = home / path.lstrip("/")
        if not place.resolve().is_relative_to(home.resolve()):
            raise NotFound("the content of the file is missing from the storage")
        return place

    @contextmanager
    def _told(self) -> Iterator[None]:
        """An error of the file system, without the paths of this machine."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError):
            if not self.root.is_dir():
                raise Retryable("the storage of the files cannot be reached") from None
            raise NotFound("the content of the file is missing from the storage") from None
        except OSError as error:
            raise Retryable(f"the storage of the files cannot be used ({error.strerror})") from None


def _copy(content: BinaryIO, to: Path) -> Stored:
    md5, size = hashlib.md5(usedforsecurity=False), 0
    with to.open("wb") as file:
        while piece := content.read(PIECE):
            file.write(piece)
            md5.update(piece)
            size += len(piece)
    return Stored(size, base64.b64encode(md5.digest()).decode())
