"""One thread of a process publishes for all of its others.

A publisher with nothing to send sends at once; a busy one gathers for a few milliseconds, some more in a rush, and
sends what has come in one round trip. The order of a process's events is kept. While Redis is away, events wait, and
after `PATIENCE` seconds of a full queue who publishes is told (`Retryable`).
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
from ragcore.events.fence import APPEND, Fence, append_arguments

log = logging.getLogger(__name__)

GATHER = 0.003  # seconds
GATHER_IN_A_RUSH = 0.01  # seconds
RUSH = 10  # events that came while the ones before them were sent
WAITING = 10_000  # events
BATCH = 500  # events in one round trip
PATIENCE = 5.0  # seconds

# An event with a fence is published only as long as its question is still its publisher's; a claim that Redis lost is
# made again. What a revision of a document says is published once, whoever sees it first.
# Behind those of `append`: KEYS claim, terminal mark; ARGV owner, milliseconds of a claim. Or KEYS revision; ARGV '',
# seconds that it is remembered.
APPEND_AND_PUBLISH = f"""{APPEND}
if KEYS[5] then
  local claim = redis.call('GET', KEYS[4])
  if redis.call('EXISTS', KEYS[5]) == 1 or (claim and string.sub(claim, 1, 32) ~= ARGV[8]) then return false end
  if not claim then redis.call('SET', KEYS[4], ARGV[8], 'PX', ARGV[9]) end
elseif KEYS[4] then
  return append_once(KEYS[4], ARGV[9])
end
return append()
"""


@dataclass(frozen=True)
class _Waiting:
    domain: str
    event: Event
    text: str
    tag: str
    fence: Fence | None


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
        lock = threading.Lock()
        self._arrival, self._sending = threading.Condition(lock), threading.Condition(lock)
        self._thread: threading.Thread | None = None

    def publish(self, domain: str, event: Event, fence: Fence | None = None) -> None:
        """Hands an event over; it is sent within milliseconds. Raises Unpublished when too many wait already.

        The fence is told when it keeps the event back.
        """
        text = event.encode()
        with self._sending:
            if not self._sending.wait_for(lambda: len(self._waiting) < WAITING, PATIENCE):
                raise Unpublished("events cannot be published: Redis does not answer")
            tag = f"{self._name}:{next(self._numbers)}"
            self._waiting.append(_Waiting(domain, event, text, tag, fence))
            self._handed += 1
            self._start()
            self._arrival.notify()

    def flush(self, timeout: float = PATIENCE) -> None:
        """Waits until all that was handed over before is published. Raises Unpublished."""
        with self._sending:
            handed = self._handed
            if not self._sending.wait_for(lambda: self._published >= handed, timeout):
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
                time.sleep(GATHER_IN_A_RUSH if len(batch) > RUSH else GATHER)
            else:
                failures += 1
                time.sleep(min(0.1 * 2**failures, 2.0))

    def _next_batch(self) -> list[_Waiting]:
        with self._arrival:
            self._arrival.wait_for(lambda: self._waiting)
            return list(itertools.islice(self._waiting, BATCH))

    def _sent(self, count: int) -> None:
        with self._sending:
            for _ in range(count):
                self._waiting.popleft()
            self._published += count
            self._sending.notify_all()

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
                keys, args = append_arguments(waiting.domain, waiting.event, waiting.text, waiting.tag, again)
                if fence := waiting.fence:
                    keys += [fence.claim_key, fence.terminal_key]
                    args += [fence.owner, fence.milliseconds]
                elif waiting.event.rev:
                    keys.append(history.revision_key(waiting.domain, waiting.event))
                    args += ["", history.REVISION_KEPT]
                pipe.execute_command("EVALSHA", self._sha, len(keys), *keys, *args)  # type: ignore[no-untyped-call]
            places = pipe.execute()
        for waiting, place in zip(batch, places, strict=True):
            if place is None and waiting.fence:
                waiting.fence.close()
