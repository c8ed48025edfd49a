"""A lock over all machines: a key of Redis with a lease, renewed while the work goes on."""

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import RagcoreError, Retryable

log = logging.getLogger(__name__)

LEASE = 30.0  # seconds; the lock of a killed process is free after that

# Only the holder renews or frees: KEYS[1] the lock, ARGV[1] the holder, ARGV[2] the lease in milliseconds.
RENEW = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2])"
FREE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1])"


class Locked(RagcoreError):
    """Somebody else holds the lock."""


class Lost(Retryable):
    """The lease ran out while the work went on: somebody else may hold the lock."""


class Lock:
    """A lock that is held. `check()` raises Lost once that is no longer sure, as after a process was frozen."""

    def __init__(self, redis: Redis, name: str, lease: float) -> None:
        self._redis = redis
        self._key = f"ragcore:lock:{name}"
        self._holder = uuid.uuid4().hex
        self._lease = lease
        self._until = 0.0
        self._over = threading.Event()

    def take(self) -> bool:
        """Raises Retryable when Redis does not answer."""
        asked = time.monotonic()
        try:
            taken = self._redis.set(self._key, self._holder, nx=True, px=int(self._lease * 1000))
        except RedisError as error:
            raise Retryable("the lock cannot be taken: Redis does not answer") from error
        self._until = asked + self._lease
        return bool(taken)

    def check(self) -> None:
        if time.monotonic() > self._until:
            raise Lost("the lock's lease ran out")

    def keep(self) -> None:
        """Renews the lease, three times before it would run out, until the lock is freed or lost."""
        while not self._over.wait(self._lease / 3):
            asked = time.monotonic()
            try:
                held = self._redis.eval(RENEW, 1, self._key, self._holder, int(self._lease * 1000))
            except RedisError as error:
                log.warning("a lock could not be renewed: %s", type(error).__name__)
                continue
            self._until = asked + self._lease if held else 0.0
            if not held:
                return

    def free(self) -> None:
        """Without Redis, the lease frees it: what the work came to counts all the same."""
        self._over.set()
        try:
            self._redis.eval(FREE, 1, self._key, self._holder)
        except RedisError as error:
            log.warning("a lock could not be freed: %s", type(error).__name__)


@contextmanager
def locked(redis: Redis, name: str, lease: float = LEASE) -> Iterator[Lock]:
    """Holds the lock of that name. Raises Locked at once when it is taken."""
    lock = Lock(redis, name, lease)
    if not lock.take():
        raise Locked(name)
    keeper = threading.Thread(target=lock.keep, name=f"lock {name}", daemon=True)
    keeper.start()
    try:
        yield lock
    finally:
        lock.free()
