"""What several threads ask for at the same time, done in one go: writes to one database, reports of one instance.

A thread works for all of them, who may do something else meanwhile: what comes while it works is its next batch, and it
ends when nothing is left.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

BATCH = 500


class Together(Generic[T, R]):
    """`work` is given what was added under a key, and gives the result of each, or the error that it is told."""

    def __init__(self, work: Callable[[list[T]], Sequence[R | Exception]]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._waiting: dict[str, list[tuple[T, Future[R]]]] = {}  # of each key that a thread works for

    def add(self, key: str, item: T) -> "Future[R]":
        """Its result raises what `work` gives, or raises."""
        done: Future[R] = Future()
        with self._lock:
            if key in self._waiting:
                self._waiting[key].append((item, done))
            else:
                threading.Thread(target=self._run, args=(key,), name="together", daemon=True).start()
                self._waiting[key] = [(item, done)]
        return done

    def _run(self, key: str) -> None:
        while batch := self._next(key):
            self._do(batch)

    def _next(self, key: str) -> "list[tuple[T, Future[R]]]":
        with self._lock:
            waiting = self._waiting.pop(key)
            if waiting:
                self._waiting[key] = waiting[BATCH:]
            return waiting[:BATCH]

    def _do(self, batch: "list[tuple[T, Future[R]]]") -> None:
        try:
            results = list(zip(batch, self._work([item for item, _ in batch]), strict=True))
        except BaseException as error:  # noqa: BLE001  (each of them waits for its end)
            told = error if isinstance(error, Exception) else RuntimeError("the process ends")
            for _, done in batch:
                done.set_exception(told)
            return
        for (_, done), result in results:
            if isinstance(result, Exception):
                done.set_exception(result)
            else:
                done.set_result(result)
