"""Uploads whose indexing may still run: until it ends, openRAG knows such a file only when it is sent again.

So a removal that comes too early would be lost, and the same content would be sent, and indexed, twice. What was sent
is kept in Redis until openRAG calls back, or for an hour: a callback can be lost.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import Unanswered, retryable

log = logging.getLogger(__name__)

KEPT = 3600.0  # seconds
MOST = 100_000  # files of one instance

# KEYS: notes. ARGV: file, its note where it is the only one, and where it is not, seconds that all are kept, how many
# are kept at most. Gives the note that was there before.
NOTE = """
local before = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[5]) then redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], ARGV[1], before == '' and ARGV[2] or ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return before
"""
# KEYS: notes. ARGV: file, its note, what it becomes. A note that a callback has ended meanwhile stays ended.
CHANGE = """
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
"""


@dataclass(frozen=True)
class Sent:
    """What an upload held (a digest), how it was sent (`POST` or `PUT`) and when (Unix time).

    Whether it was `taken` is not known of one whose sender was killed; where it was `alone`, no other of the same file
    was on its way.
    """

    digest: str = ""
    method: str = ""
    at: float = 0.0
    taken: bool = True
    alone: bool = False


def digest_of(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Uploads:
    redis: Redis
    domain: str
    now: Callable[[], float] = time.time

    @property
    def _key(self) -> str:
        return f"ragcore:uploads:{{{self.domain}}}"

    @contextmanager
    def sending(self, file_id: str, digest: str, method: str) -> Iterator[None]:
        """Notes an upload before it begins: its callback may be here first, and its sender killed.

        One that fails gives way to what was noted before, unless it may have arrived. An upload is not lost because
        Redis is away.
        """
        sent = [digest, method, self.now()]
        note, before = self._note(file_id, sent)
        try:
            yield
            self._change(file_id, note, json.dumps(sent))
        except Unanswered:
            raise
        except Exception:
            self._change(file_id, note, before)
            raise

    def _note(self, file_id: str, sent: list[object]) -> tuple[str, str]:
        """The note of an upload, and that of a former one; Redis may be away."""
        alone, beside = (json.dumps([*sent, False, alone]) for alone in (True, False))
        before = ""
        try:
            before = str(self.redis.eval(NOTE, 1, self._key, file_id, alone, beside, int(KEPT), MOST))
        except RedisError as error:
            log.warning("the upload of %s is not noted: %s", file_id, type(error).__name__)
        return (beside if before else alone), before

    def _change(self, file_id: str, note: str, to: str) -> None:
        try:
            self.redis.eval(CHANGE, 1, self._key, file_id, note, to)
        except RedisError as error:
            log.warning("what became of the upload of %s is not noted: %s", file_id, type(error).__name__)

    def ended(self, *file_ids: str) -> None:
        try:
            self.redis.hdel(self._key, *file_ids)
        except RedisError as error:
            log.warning("the end of the upload of %s is not noted: %s", ", ".join(file_ids), type(error).__name__)

    def forget(self) -> None:
        """None runs any more: their partition is gone. Raises Retryable."""
        with _told():
            self.redis.delete(self._key)

    def of(self, file_id: str) -> Sent:
        """The upload of a file whose indexing may run; an empty one if there is none. Raises Retryable."""
        with _told():
            return self._sent(cast(str | None, self.redis.hget(self._key, file_id)))

    def all(self) -> list[str]:
        """The files whose indexing may run. Raises Retryable."""
        with _told():
            kept = cast(dict[str, str], self.redis.hgetall(self._key))
        return [file_id for file_id, text in kept.items() if self._sent(text).digest]

    def _sent(self, text: str | None) -> Sent:
        sent = Sent(*json.loads(text)) if text else Sent()
        return sent if sent.at > self.now() - KEPT else Sent()


def _told() -> AbstractContextManager[None]:
    return retryable(RedisError, "it is not known which uploads are indexed: Redis does not answer")
