"""Names of a folder are taken by one writer at a time: documents alone do not keep two files of one name apart."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import Conflict, retryable

HELD = 120.0  # seconds: more than the requests that a writer makes meanwhile
PATIENCE = 10.0  # seconds that the next writer waits


@contextmanager
def held(redis: Redis, domain: str, dir_id: str, name: str = "") -> Iterator[None]:
    """A name of a folder, or with none the folder. Raises Conflict, Retryable."""
    lock = redis.lock(f"ragcore:name:{{{domain}}}:{dir_id}:{name}", timeout=HELD, blocking_timeout=PATIENCE)
    with retryable(RedisError, "the names of files cannot be held: Redis does not answer"):
        taken = lock.acquire()
    if not taken:
        raise Conflict(f"{name or dir_id} is being written")
    try:
        yield
    finally:
        with suppress(RedisError):  # it runs out by itself
            lock.release()
