"""How much one token may ask for (`limits` of the configuration): 0 is no limit.

Messages are counted in Redis, over all API processes; sockets where they are, in each process.
"""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis.exceptions import RedisError

from ragcore.errors import TooMany, retryable
from ragcore.instances import Instance
from ragcore.runtime import Runtime

MINUTE = 60.0


class ChatLimit:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._per_minute = runtime.config.limits.chat_per_minute

    @cached_property
    def _limiter(self) -> FixedWindowRateLimiter:
        config, pool = self._runtime.config, self._runtime.redis.connection_pool
        return FixedWindowRateLimiter(RedisStorage(config.redis.url, pool, key_prefix="ragcore:limits"))

    def hit(self, instance: Instance, token: str) -> None:
        """Counts a message. Raises TooMany, and Retryable when Redis is away."""
        if not self._per_minute:
            return
        item, who = RateLimitItemPerMinute(self._per_minute), (instance.domain, _name_of(token))
        with retryable(RedisError, "messages cannot be taken at the moment"):
            if not self._limiter.hit(item, "chat", *who):
                until = self._limiter.get_window_stats(item, "chat", *who).reset_time
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
