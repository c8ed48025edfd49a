"""The files of the page, as they are sent: found in their folder alone, compressed once for each of their versions."""

import gzip
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ragcore.errors import NotFound
from ragcore.files.kinds import mime_of

REMEMBERED = 256  # versions of files: more than the page has
# where `mime_of` knows none, or not the one that browsers ask of a module
TYPES = {
    "": "text/plain",  # a license
    ".js": "text/javascript",
    ".map": "application/json",
    ".mjs": "text/javascript",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class Asset:
    """`gzipped` is None for what is compressed in itself; `etag` is of the content."""

    mime: str
    etag: str
    content: bytes
    gzipped: bytes | None

    def encoded(self, gzip_taken: bool) -> tuple[bytes, str]:
        """The body, and its content encoding."""
        return (self.gzipped, "gzip") if gzip_taken and self.gzipped is not None else (self.content, "")


@dataclass(frozen=True)
class Assets:
    folder: Path

    def find(self, path: str) -> Asset:
        """The file of a path below the folder, links followed. Raises NotFound, also for what is elsewhere."""
        try:
            place = (self.folder / path).resolve(strict=True)
            if place.is_relative_to(self.folder.resolve()) and place.is_file():
                stat = place.stat()
                return _read(place, stat.st_mtime_ns, stat.st_size)
        except (OSError, ValueError, RuntimeError):  # also a name that is too long, that has a NUL, or links in a ring
            pass
        raise NotFound("there is no such file")


@lru_cache(REMEMBERED)
def _read(place: Path, _changed: int, _size: int) -> Asset:
    content = place.read_bytes()
    smaller = gzip.compress(content, mtime=0)
    etag = hashlib.sha256(content).hexdigest()[:32]
    mime = TYPES.get(place.suffix.lower()) or mime_of(place.name)
    return Asset(mime, etag, content, smaller if len(smaller) < 0.9 * len(content) else None)
