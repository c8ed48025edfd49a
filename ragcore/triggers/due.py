"""When something is due, in Redis: each due time is taken by one process, whoever looks.

What is taken is held for a while, then settled: its next due time is written, or none. What a killed process held is
due again when the hold is over: after a crash it may fire twice, never not.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import retryable

TRIGGERS = "ragcore:due"  # a sorted set: domain and trigger, scored with the time when it is due
HOLD = 60.0  # seconds
FILL_EVERY = 300.0  # seconds
FILL_AGAIN = 15.0  # seconds, when something could not be read

# KEYS: due. ARGV: member, at, latest of what is left as it is. Adds it, or brings back what is due later than that.
ADD = """
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not known or tonumber(known) > math.max(tonumber(ARGV[2]), tonumber(ARGV[3])) then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
end
"""
# KEYS: due. ARGV: now, hold until, limit. Takes the first that are due: no other does while they are held.
TAKE = """
local taken = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
for _, member in ipairs(taken) do redis.call('ZADD', KEYS[1], ARGV[2], member) end
return taken
"""
# KEYS: due. ARGV: member, held until, next due time or empty. Nothing, when it is held no more.
SETTLE = """
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not held or tonumber(held) ~= tonumber(ARGV[2]) then return end
if ARGV[3] == '' then redis.call('ZREM', KEYS[1], ARGV[1]) else redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1]) end
"""


@dataclass(frozen=True)
class Taken:
    """A domain and what of it is due; times are Unix time."""

    domain: str
    name: str
    at: float
    until: float


class DueTimes:
    """Each call raises Retryable when Redis does not answer."""

    def __init__(self, redis: Redis, key: str = TRIGGERS, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._redis = redis
        self._key = key

    def add(self, domain: str, name: str, at: float) -> None:
        """Unless it is there already: one that was missed stays due, one that is held stays so.

        One that is due later than it should be was written before the clock was set back.
        """
        with _told():
            self._redis.eval(ADD, 1, self._key, _member(domain, name), at, self.now() + 2 * HOLD)

    def remove(self, domain: str, name: str) -> None:
        with _told():
            self._redis.zrem(self._key, _member(domain, name))

    def fill(self, times: Iterable[tuple[str, str, float]]) -> None:
        """Adds those that are missing: every few minutes, and when Redis lost them. Else `times` are not looked at."""
        with _told():
            if not self._redis.set(self._filled, "1", nx=True, px=int(FILL_EVERY * 1000)):
                return
        try:
            for domain, name, at in times:
                self.add(domain, name, at)
        except BaseException:
            self.fill_again(FILL_AGAIN)
            raise

    def fill_again(self, after: float = 0.0) -> None:
        """A `fill` looks at all, this many seconds from now."""
        with _told():
            self._redis.pexpire(self._filled, int(after * 1000))

    def take(self, limit: int) -> list[Taken]:
        """What is due, the first of it first. Who takes something settles it."""
        now = self.now()
        until = now + HOLD
        with _told():
            members: list[str] = self._redis.eval(TAKE, 1, self._key, now, until, limit)
        return [Taken(*_parts(member), now, until) for member in members]

    def is_held(self, taken: Taken) -> bool:
        return self.now() < taken.until

    def settle(self, taken: Taken, at: float | None) -> None:
        """When it is due next; None: never. One that was removed meanwhile stays so."""
        member = _member(taken.domain, taken.name)
        with _told():
            self._redis.eval(SETTLE, 1, self._key, member, taken.until, "" if at is None else at)

    @property
    def _filled(self) -> str:
        return f"{self._key}:filled"


def _member(domain: str, name: str) -> str:
    return f"{domain}\n{name}"


def _parts(member: str) -> tuple[str, str]:
    domain, _, name = member.partition("\n")
    return domain, name


def _told() -> AbstractContextManager[None]:
    return retryable(RedisError, "nothing is fired: Redis does not answer")
