"""One process of several does the work: the one that has the lease. Another takes over when it is gone."""

import logging
import threading
import time
import uuid
from collections.abc import Callable

from redis import Redis
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

LEASE = 10.0  # seconds
RENEW_EVERY = 2.0

GoesOn = Callable[[], bool]

# KEYS: lease. ARGV: holder, milliseconds. Takes it, or renews it.
LEAD = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
# KEYS: lease. ARGV: holder.
RESIGN = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


class Lead:
    """`is_mine` is false once it is no longer sure, as after a freeze."""

    def __init__(self, redis: Redis, key: str) -> None:
        self._redis = redis
        self._key = key
        self._holder = uuid.uuid4().hex
        self._until = 0.0
        self._term = 0
        self._over = threading.Event()

    @property
    def is_mine(self) -> bool:
        return time.monotonic() < self._until

    def take(self) -> bool:
        """Takes the lease, or renews it. False when another has it, or Redis does not answer."""
        asked = time.monotonic()
        try:
            mine = self._redis.eval(LEAD, 1, self._key, self._holder, int(LEASE * 1000))
        except RedisError as error:
            log.warning("the lead is not renewed: Redis does not answer (%s)", type(error).__name__)
            return self.is_mine
        self._until = asked + LEASE if mine else 0.0
        return bool(mine)

    def begin_anew(self) -> None:
        """What began with this lead is over, and begins again."""
        self._term += 1

    def resign(self) -> None:
        self._over.set()
        self._until = 0.0
        try:
            self._redis.eval(RESIGN, 1, self._key, self._holder)
        except RedisError:
            return  # the lease runs out

    def run(self, begin: Callable[[GoesOn], None]) -> None:
        """Waits for the lead, calls `begin` once it has it, renews it until it is lost, and waits again.

        `begin` starts what it has to in threads of its own, which work as long as what it is given is true.
        """
        begun = self._term
        while not self._over.is_set():
            had = self.is_mine
            if self.take():
                self._term += not had
                if begun != self._term:
                    begun = self._term
                    log.info("this process has the lead")
                    begin(self._goes_on(begun))
            self._over.wait(RENEW_EVERY)

    def _goes_on(self, term: int) -> GoesOn:
        """A lead that was lost and taken again is another: what began with the first one is over."""
        return lambda: self.is_mine and self._term == term
