"""Triggers that are to fire, in Redis: the first matching event starts the delay, those during it make no other job."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import NotFound, RagcoreError, retryable

log = logging.getLogger(__name__)

KEY = "ragcore:debounced"  # a sorted set: domain and trigger, scored with the time when it fires
FIRING = "ragcore:firing"  # a set of the same: their jobs are being pushed, an event begins a delay of its own
LOOKED = "ragcore:debounced:looked"  # when it was last looked at
CLOCKS_DIFFER = 5.0  # seconds
LOOK_EVERY = 5.0  # seconds, where nothing is to fire
AGAIN_AFTER = 1.0  # seconds, when one could not be fired

# KEYS: debounced, firing, looked. ARGV: now, by how much clocks differ. What is due is to be fired: all that is. Times
# that were written before the clock was set back are set back with it.
DUE = """
local back = tonumber(redis.call('GET', KEYS[3]) or 0) - ARGV[1]
redis.call('SET', KEYS[3], ARGV[1])
if back > tonumber(ARGV[2]) then
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZINCRBY', KEYS[1], -back, member) end
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])) do
  redis.call('SADD', KEYS[2], member)
  redis.call('ZREM', KEYS[1], member)
end
return redis.call('SMEMBERS', KEYS[2])
"""

Fire = Callable[[str, str], None]  # a domain and the id of a trigger


class Debounce:
    """One process fires. A trigger is taken out once its job is pushed: after a crash it may fire twice, never not."""

    def __init__(self, redis: Redis, now: Callable[[], float] = time.time) -> None:
        self._redis = redis
        self._now = now
        self._changed = threading.Event()

    def add(self, domain: str, trigger_id: str, delay: float) -> None:
        """The earliest time counts: one that was written before the clock was set back may be an hour ahead.

        Raises Retryable.
        """
        with _told():
            self._redis.zadd(KEY, {f"{domain}\n{trigger_id}": self._now() + delay}, lt=True)
        self._changed.set()

    def fire_due(self, fire: Fire) -> float:
        """Fires what is due: the seconds until the next. Raises Retryable."""
        with _told():
            due = self._redis.eval(DUE, 3, KEY, FIRING, LOOKED, self._now(), CLOCKS_DIFFER)
        failed = [member for member in due if not self._fire(fire, member)]
        if failed:
            return AGAIN_AFTER
        with _told():
            soonest = cast(list[tuple[str, float]], self._redis.zrange(KEY, 0, 0, withscores=True))
        return max(soonest[0][1] - self._now(), 0.0) if soonest else LOOK_EVERY

    def _fire(self, fire: Fire, member: str) -> bool:
        domain, _, trigger_id = member.partition("\n")
        try:
            fire(domain, trigger_id)
        except NotFound as error:
            log.info("%s: trigger %s does not fire: %s", domain, trigger_id, error)
        except RagcoreError as error:
            log.warning("%s: trigger %s fires later: %s", domain, trigger_id, error)
            return False
        except Exception:  # a bug that one trigger shows must not stop all others
            log.exception("%s: trigger %s fires later", domain, trigger_id)
            return False
        with _told():
            self._redis.srem(FIRING, member)
        return True

    def run(self, fire: Fire, may_go_on: Callable[[], bool]) -> None:
        while may_go_on():
            self._changed.clear()
            try:
                wait = self.fire_due(fire)
            except RagcoreError as error:
                log.warning("triggers wait: %s", error)
                wait = AGAIN_AFTER
            self._changed.wait(min(wait, LOOK_EVERY))


def _told() -> AbstractContextManager[None]:
    return retryable(RedisError, "triggers cannot fire: Redis does not answer")
