"""How much one token may ask for (`limits` of the configuration): 0 is no limit.

Each API process counts for itself: a message makes no more calls to Redis for it.
"""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragcore.errors import TooMany

MINUTE = 60.0


class ChatLimit:
    """In each minute of the clock."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.time) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._minute, self._sent = 0.0, Counter[str]()
        self._lock = threading.Lock()

    def hit(self, token: str) -> None:
        """Counts a message. Raises TooMany."""
        if not self._per_minute:
            return
        name, (minute, seconds) = _name_of(token), divmod(self._clock(), MINUTE)
        with self._lock:
            if minute != self._minute:
                self._minute, self._sent = minute, Counter()
            self._sent[name] += 1
            sent = self._sent[name]
        if sent > self._per_minute:
            raise TooMany(f"a token may send {self._per_minute} messages in a minute", max(MINUTE - seconds, 1))


class SocketLimit:
    def __init__(self, per_token: int) -> None:
        self._per_token = per_token
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def one_more(self, token: str) -> Iterator[None]:
        """While a socket of the token is open. Raises TooMany."""
        name = _name_of(token)
        with self._lock:
            if self._per_token and self._open[name] >= self._per_token:
                raise TooMany(f"a token may have {self._per_token} websockets", MINUTE)
            self._open[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[name] -= 1
                if not self._open[name]:
                    del self._open[name]


def _name_of(token: str) -> str:
    """Tells tokens apart, and is none."""
    return hashlib.sha256(token.encode()).hexdigest()
