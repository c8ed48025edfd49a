"""One thread of a process publishes for all of its others.

A publisher with nothing to send sends at once; a busy one gathers for a few milliseconds and sends what has
come in one round trip. The order of a process's events is kept. While Redis is away, events wait, and after
`PATIENCE` seconds of a full queue who publishes is told (`Retryable`).
"""

import hashlib
import itertools
import logging
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import NoScriptError, RedisError

from ragcore.errors import Retryable
from ragcore.events import history
from ragcore.events.event import Event

log = logging.getLogger(__name__)

GATHER = 0.003  # seconds
WAITING = 10_000  # events
BATCH = 500  # events in one round trip
PATIENCE = 5.0  # seconds

# Appends to the history and publishes, in one step, so that the place on the live channel is the one in the
# history. An event that is sent a second time, after an answer of Redis was lost, is looked for first.
# KEYS: history, active questions, channel.
# ARGV: text, question, tag, sent before (0, 1), seconds kept, length, subject.
APPEND_AND_PUBLISH = """
if ARGV[4] == '1' then
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1000)) do
    if entry[2][4] == ARGV[3] then return entry[1] end
  end
end
local place = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[6], '*', 'e', ARGV[1], 't', ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[5])
if ARGV[2] ~= '' then
  local now = tonumber(string.match(place, '^%d+'))
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[5] * 1000)
  redis.call('ZADD', KEYS[2], now, ARGV[2])
  redis.call('EXPIRE', KEYS[2], ARGV[5])
end
redis.call('PUBLISH', KEYS[3], place .. ' ' .. ARGV[7] .. '\\n' .. ARGV[1])
return place
"""


@dataclass(frozen=True)
class _Waiting:
    domain: str
    question: str
    subject: str
    text: str
    tag: str


class Unpublished(Retryable):
    """Too many events wait already: Redis does not answer."""


class Publisher:
    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._sha = hashlib.sha1(APPEND_AND_PUBLISH.encode(), usedforsecurity=False).hexdigest()
        self._name = uuid.uuid4().hex
        self._numbers = itertools.count()
        self._waiting: deque[_Waiting] = deque()
        self._handed = self._published = 0  # how many, since the beginning
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def publish(self, domain: str, event: Event) -> None:
        """Hands an event over; it is sent within milliseconds. Raises Unpublished when too many wait already."""
        text = event.encode()
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._waiting) < WAITING, PATIENCE):
                raise Unpublished("events cannot be published: Redis does not answer")
            tag = f"{self._name}:{next(self._numbers)}"
            self._waiting.append(_Waiting(domain, event.question, event.subject, text, tag))
            self._handed += 1
            self._start()
            self._changed.notify_all()

    def flush(self, timeout: float = PATIENCE) -> None:
        """Waits until all that was handed over before is published. Raises Unpublished."""
        with self._changed:
            handed = self._handed
            if not self._changed.wait_for(lambda: self._published >= handed, timeout):
                raise Unpublished("events cannot be published: Redis does not answer")

    def _start(self) -> None:
        # at the first event, not in the constructor: a thread does not live on in a forked child
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        failures = 0
        batch: list[_Waiting] = []
        while True:
            if not failures:  # else the same once more: what has come since was not sent yet
                batch = self._next_batch()
            if self._send(batch, again=failures > 0):
                failures = 0
                self._sent(len(batch))
                time.sleep(GATHER)
            else:
                failures += 1
                time.sleep(min(0.1 * 2**failures, 2.0))

    def _next_batch(self) -> list[_Waiting]:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            return list(itertools.islice(self._waiting, BATCH))

    def _sent(self, count: int) -> None:
        with self._changed:
            for _ in range(count):
                self._waiting.popleft()
            self._published += count
            self._changed.notify_all()

    def _send(self, batch: list[_Waiting], again: bool) -> bool:
        try:
            self._execute(batch, again)
        except NoScriptError:
            # not register_script: it asks whether the script is there before each pipeline
            return self._load_script() and self._send(batch, again)
        except RedisError as error:
            log.warning("%d events wait: Redis does not answer (%s)", len(batch), type(error).__name__)
            return False
        return True

    def _load_script(self) -> bool:
        try:
            self._redis.script_load(APPEND_AND_PUBLISH)
        except RedisError:
            return False
        return True

    def _execute(self, batch: list[_Waiting], again: bool) -> None:
        with self._redis.pipeline(transaction=False) as pipe:
            for waiting in batch:
                self._append(pipe, waiting, again)
            pipe.execute()

    def _append(self, pipe: Redis, waiting: _Waiting, again: bool) -> None:
        keys = [
            history.history_key(waiting.domain, waiting.question),
            history.active_key(waiting.domain),
            history.channel(waiting.domain),
        ]
        length = history.LENGTH if waiting.question else history.length_of_rest(waiting.text)
        args: list[str | int] = [waiting.text, waiting.question, waiting.tag, int(again), history.KEPT, length]
        args.append(waiting.subject)
        pipe.evalsha(self._sha, len(keys), *keys, *args)
