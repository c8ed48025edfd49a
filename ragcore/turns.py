"""Index jobs of an instance take turns: one at a time, over all machines.

Each piece of work (an id of the ledger) is in one of these states, all in Redis, changed in one step:

- *marked*: its message is on its way to the queue, in it, or with a worker that is about to begin, or waits to try
  again (a mark that expires, so that a lost message is noticed);
- *running*: it holds the turn of its instance, a lease that is renewed while it works;
- *waiting*: it found the turn taken, and holds no worker slot; who has the turn enqueues it when it is over.

What is in none of them is done by nobody: the sweep enqueues it.
"""

import logging
import threading
import time
import uuid
from contextlib import AbstractContextManager
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import RagcoreError, Retryable, retryable

log = logging.getLogger(__name__)

LEASE = 15.0  # seconds; the turn of a killed process is free after that
ON_ITS_WAY = 10.0  # seconds between the mark and the message in the queue
MARKED = 120.0  # seconds that a message may stay in the queue before it is sent once more
# the values of a mark
ON_WAY = "1"
QUEUED = "queued"
BEGINS = "begins"
LATER = "later"  # the message is with a worker until its job is tried again

# KEYS: turn, waiting, mark. ARGV: holder, lease in ms, id. Takes the turn, or waits for it.
TAKE = """
redis.call('DEL', KEYS[3])
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.call('SREM', KEYS[2], ARGV[3])
  return 1
end
redis.call('SADD', KEYS[2], ARGV[3])
return 0
"""
# KEYS: turn. ARGV: holder, lease in ms. Only the holder renews.
RENEW = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2])"
# KEYS: turn, waiting. ARGV: holder. Ends the turn: the ids that waited for it, none when it was lost.
END = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {} end
redis.call('DEL', KEYS[1])
local waiting = redis.call('SMEMBERS', KEYS[2])
redis.call('DEL', KEYS[2])
return waiting
"""
# KEYS: mark. ARGV: ms. A worker may have the message before its sender comes to say that it is in the queue.
STAYS = f"return redis.call('GET', KEYS[1]) == '{ON_WAY}' and redis.call('SET', KEYS[1], '{QUEUED}', 'PX', ARGV[1])"


class Taken(RagcoreError):
    """Another job of the instance has the turn; this one waits for it."""


class Lost(Retryable):
    """The lease ran out while the work went on: another job may have the turn."""


def _told() -> AbstractContextManager[None]:
    return retryable(RedisError, "index jobs cannot take turns: Redis does not answer")


class Turn:
    """The turn of an instance, held. `check()` raises Lost once that is no longer sure, as after a freeze."""

    def __init__(self, redis: Redis, domain: str, work: str) -> None:
        self._redis = redis
        self._domain = domain
        self._work = work
        self._holder = f"{work} {uuid.uuid4().hex}"
        self._until = 0.0
        self._over = threading.Event()

    def take(self) -> bool:
        keys = [turn_key(self._domain), waiting_key(self._domain), mark_key(self._work)]
        asked = time.monotonic()
        with _told():
            taken = self._redis.eval(TAKE, 3, *keys, self._holder, _milliseconds(LEASE), self._work)
        self._until = asked + LEASE
        return bool(taken)

    def check(self) -> None:
        if time.monotonic() > self._until:
            raise Lost("another job may work on this instance")

    def is_wanted(self) -> bool:
        """Whether another job of the instance waits."""
        with _told():
            return bool(self._redis.exists(waiting_key(self._domain)))

    def keep(self) -> None:
        """Renews the lease, five times before it would run out, until the turn is over or lost."""
        while not self._over.wait(LEASE / 5):
            asked = time.monotonic()
            try:
                held = self._redis.eval(RENEW, 1, turn_key(self._domain), self._holder, _milliseconds(LEASE))
            except RedisError as error:
                log.warning("a lease could not be renewed: %s", type(error).__name__)
                continue
            self._until = asked + LEASE if held else 0.0
            if not held:
                return

    def end(self) -> list[str]:
        """The works that waited for the turn. Without Redis, the lease ends it, and the sweep finds them."""
        self._over.set()
        try:
            waited = self._redis.eval(END, 2, turn_key(self._domain), waiting_key(self._domain), self._holder)
        except RedisError as error:
            log.warning("a turn could not be ended: %s", type(error).__name__)
            return []
        return list(waited)


def take_turn(redis: Redis, domain: str, work: str) -> Turn:
    """Raises Taken at once when another job has it, Retryable when Redis does not answer."""
    turn = Turn(redis, domain, work)
    if not turn.take():
        raise Taken(f"another index job of {domain} runs")
    threading.Thread(target=turn.keep, name=f"turn of {domain}", daemon=True).start()
    return turn


def mark(redis: Redis, work: str) -> bool:
    """Marks that a message of this work is on its way to the queue; False when there is one already."""
    with _told():
        return bool(redis.set(mark_key(work), ON_WAY, nx=True, px=_milliseconds(ON_ITS_WAY)))


def mark_later(redis: Redis, work: str, seconds: float) -> bool:
    """Marks that a message of this work is with a worker for so long; False when there is another one."""
    with _told():
        return bool(redis.set(mark_key(work), LATER, nx=True, px=_milliseconds(seconds)))


def in_queue(redis: Redis, work: str) -> None:
    """The message is in the queue: the mark may stay as long as that takes."""
    with _told():
        redis.eval(STAYS, 1, mark_key(work), _milliseconds(MARKED))


def begins(redis: Redis, work: str) -> None:
    """A worker has the message: should it be killed before it has the turn, that is missed soon."""
    with _told():
        redis.set(mark_key(work), BEGINS, xx=True, px=_milliseconds(ON_ITS_WAY))


def unmark(redis: Redis, work: str) -> None:
    with _told():
        redis.delete(mark_key(work))


@dataclass(frozen=True)
class State:
    """Of a piece of work. `queued_for`: seconds since its message was put into the queue; `waits`: for a turn that is
    held."""

    queued_for: float
    marked: bool
    waits: bool
    runs: bool

    @property
    def is_to_begin(self) -> bool:
        return self.marked or self.waits

    @property
    def is_done_by_somebody(self) -> bool:
        return self.is_to_begin or self.runs


def state(redis: Redis, domain: str, work: str) -> State:
    with _told(), redis.pipeline(transaction=True) as pipe:
        pipe.get(mark_key(work))
        pipe.pttl(mark_key(work))
        pipe.get(turn_key(domain))
        pipe.sismember(waiting_key(domain), work)
        marked, left, holder, waits = pipe.execute()
    return State(
        queued_for=MARKED - left / 1000 if marked == QUEUED else 0.0,
        marked=bool(marked),
        waits=bool(holder and waits),
        runs=bool(holder) and holder.rpartition(" ")[0] == work,
    )


def turn_key(domain: str) -> str:
    return f"ragcore:turn:{{{domain}}}"


def waiting_key(domain: str) -> str:
    return f"ragcore:waiting:{{{domain}}}"


def mark_key(work: str) -> str:
    return f"ragcore:mark:{work}"


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
