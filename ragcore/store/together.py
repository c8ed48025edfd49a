"""Documents that several threads save at the same time in one database, in one request.

One thread writes for all others, which may do something else meanwhile: what comes while it writes goes with its next
request.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from ragcore.errors import Conflict

Document = dict[str, Any]


class Together:
    """`write` gives the documents as they were saved, None for a conflict."""

    def __init__(self, write: Callable[[list[Document]], Sequence[Document | None]]) -> None:
        self._write = write
        self._waiting: SimpleQueue[tuple[Document, Future[Document]]] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def save(self, doc: Document) -> "Future[Document]":
        """Its result raises Conflict, and what `write` raises."""
        saved: Future[Document] = Future()
        self._waiting.put((doc, saved))
        self._start()
        return saved

    def _start(self) -> None:
        # at the first document, not in the constructor: a thread does not live on in a forked child
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="together", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            self._save_all(batch)

    def _save_all(self, batch: list[tuple[Document, "Future[Document]"]]) -> None:
        try:
            written = list(zip(batch, self._write([doc for doc, _ in batch]), strict=True))
        except BaseException as error:  # noqa: BLE001  (each of them waits for its end)
            told = error if isinstance(error, Exception) else RuntimeError("the process ends")
            for _, saved in batch:
                saved.set_exception(told)
            return
        for (_, saved), doc in written:
            if doc is None:
                saved.set_exception(Conflict("the document was not written"))
            else:
                saved.set_result(doc)
