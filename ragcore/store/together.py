"""Documents that several threads save at the same time in one database, in one request.

Who comes while nothing is written writes at once; who comes meanwhile waits, and one of them writes for all.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ragcore.errors import Conflict

Document = dict[str, Any]


@dataclass(eq=False)
class _Waiting:
    doc: Document
    saved: Document | None = None
    error: Exception | None = None

    @property
    def is_over(self) -> bool:
        return self.saved is not None or self.error is not None

    def result(self) -> Document:
        if self.error:
            raise self.error
        assert self.saved is not None  # noqa: S101
        return self.saved


class Together:
    """`write` gives the documents as they were saved, None for a conflict."""

    def __init__(self, write: Callable[[list[Document]], Sequence[Document | None]]) -> None:
        self._write = write
        self._waiting: list[_Waiting] = []
        self._is_writing = False
        self._changed = threading.Condition()

    def save(self, doc: Document) -> Document:
        """Raises Conflict, and what `write` raises."""
        mine = _Waiting(doc)
        with self._changed:
            self._waiting.append(mine)
            self._changed.wait_for(lambda: mine.is_over or not self._is_writing)
            if mine.is_over:
                return mine.result()
            self._is_writing = True
            batch, self._waiting = self._waiting, []
        try:
            self._save_all(batch)
        finally:
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()
        return mine.result()

    def _save_all(self, batch: list[_Waiting]) -> None:
        try:
            for waiting, saved in zip(batch, self._write([waiting.doc for waiting in batch]), strict=True):
                waiting.saved = saved
                waiting.error = Conflict("the document was not written") if saved is None else None
        except BaseException as error:
            for waiting in batch:
                waiting.error = error if isinstance(error, Exception) else RuntimeError("the process ends")
            if not isinstance(error, Exception):
                raise
