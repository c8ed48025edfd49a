import socket
import threading
import time
from collections.abc import Iterator

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ragcore.locks import Lock, Lost


@pytest.fixture
def no_redis() -> Iterator[Redis]:
    """A server that is away: a port that is taken, and nobody listens on it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield Redis("127.0.0.1", taken.getsockname()[1], retry=Retry(NoBackoff(), 0))


def test_a_lock_that_could_not_be_renewed_in_its_lease_is_lost(no_redis: Redis) -> None:
    lock = Lock(no_redis, "x", lease=0.03)
    keeper = threading.Thread(target=lock.keep, daemon=True)
    keeper.start()
    try:
        assert is_lost(lock, within=1.0)
    finally:
        lock._over.set()
        keeper.join(5)


def is_lost(lock: Lock, within: float) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            lock.check()
        except Lost:
            return True
        time.sleep(0.01)
    return False
