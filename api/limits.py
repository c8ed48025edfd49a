"""How much one token may ask for (`limits` of the configuration): 0 is no limit.

Each API process counts for itself: a message makes no more calls to Redis for it.
"""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from ragcore.errors import TooMany

MINUTE = 60.0


class ChatLimit:
    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    def hit(self, token: str) -> None:
        """Counts a message. Raises TooMany."""
        if not self._per_minute:
            return
        item, name = RateLimitItemPerMinute(self._per_minute), _name_of(token)
        if not self._limiter.hit(item, name):
            until = self._limiter.get_window_stats(item, name).reset_time
            raise TooMany(f"a token may send {self._per_minute} messages in a minute", max(until - time.time(), 1))


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
