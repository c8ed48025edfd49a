"""Content that is read as the one of its document, or not to its end."""

import hashlib
import os
from typing import BinaryIO

from ragcore.errors import Refused


class Changed(Refused):
    """The content is not the one that its document tells of."""


class Checked:
    """Content that is read, once, as the one of a document. Raises Changed before the last of it is given out when it
    is another, also one that was changed while it was read."""

    def __init__(self, file: BinaryIO, size: int, md5sum: str) -> None:
        self._file = file
        self._md5sum = md5sum
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._left = size if md5sum else os.fstat(file.fileno()).st_size

    @property
    def len(self) -> int:
        """Bytes that are still to be read."""
        return self._left

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(self._left if size < 0 else min(size, self._left))
        self._md5.update(piece)
        self._left -= len(piece)
        if (self._left and not piece) or (not self._left and not self._is_right()):
            raise Changed("its content is not the one of its document")
        return piece

    def _is_right(self) -> bool:
        return not self._md5sum or (self._md5.hexdigest() == self._md5sum and not self._file.read(1))

    def __enter__(self) -> "Checked":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
