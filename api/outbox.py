"""What waits to be sent to one client, bounded in bytes."""

import threading
from collections import deque

LARGEST = 8 << 20  # bytes: eight of the largest events
PATIENCE = 30.0  # seconds that a replay waits for a slow client


class Full(Exception):
    """The client is too slow."""


class Outbox:
    def __init__(self) -> None:
        self._waiting: deque[tuple[str, int]] = deque()
        self._size = 0
        self._closed = False
        self._reader_waits = False
        self._changed = threading.Condition()

    @property
    def is_idle(self) -> bool:
        """Nothing waits, and what was taken out is sent."""
        with self._changed:
            return self._reader_waits and not self._waiting

    def put(self, text: str, patience: float = 0.0) -> None:
        """Waits up to `patience` seconds for room. Raises Full."""
        size = len(text.encode())
        with self._changed:
            if not self._changed.wait_for(lambda: self._size + size <= LARGEST, patience):
                raise Full
            self._waiting.append((text, size))
            self._size += size
            self._changed.notify_all()

    def get(self, timeout: float | None = None) -> str | None:
        """The next text, when there is one; None after `close`. Raises TimeoutError after so many seconds."""
        with self._changed:
            self._reader_waits = True
            if not self._changed.wait_for(lambda: self._waiting or self._closed, timeout):
                raise TimeoutError
            self._reader_waits = False
            if self._closed:
                return None
            text, size = self._waiting.popleft()
            self._size -= size
            self._changed.notify_all()
            return text

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
