"""The budget of one instance: what its plan allows, and what a day has used of it."""

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis.exceptions import LockError, RedisError

from ragcore.budgets.counters import Counters, Hold, Purse, Turn
from ragcore.budgets.day import Day
from ragcore.budgets.errors import Spent
from ragcore.budgets.recount import SURFACES, turns_of
from ragcore.config import Plan
from ragcore.errors import Retryable
from ragcore.instances import Instance, members_of

if TYPE_CHECKING:
    from ragcore.budgets.budgets import Budgets

log = logging.getLogger(__name__)

COUNTED_WITHIN = 5.0  # seconds that a request waits for another process that counts again
LOOK_EVERY = 0.1  # seconds


@dataclass(frozen=True)
class Budget:
    """Of an instance with a plan. Each call raises Retryable."""

    budgets: "Budgets"
    instance: Instance
    name: str
    plan: Plan

    @property
    def purse(self) -> Purse:
        return Purse.of(self.instance.domain, self.instance.org_id)

    @property
    def counters(self) -> Counters:
        return self.budgets.counters

    def reserve(self, day: Day, turn: Turn, tokens: int) -> bool:
        """For a call of about so many tokens. False while others' calls may use what is left. Raises Spent."""
        limits = (self.plan.tokens, getattr(self.plan, turn.surface) if turn.surface else None)
        lasts = self.budgets.config.jobs.rag_query.timeout
        hold, may_answer = self.counters.reserve(self.purse, day, turn, tokens, limits, lasts)
        if hold is Hold.UNCOUNTED:
            self.uncount(day, turn)  # those that were answered before come first
            if self.count_again(day):
                return self.reserve(day, turn, tokens)
            return False
        if not may_answer or hold is Hold.SPENT:
            raise Spent(self.name, day.reset_at, self.plan.upgrade_url)
        return hold is Hold.HELD

    def settle(self, day: Day, turn: Turn) -> None:
        self.counters.settle(self.purse, day, [turn])

    def uncount(self, day: Day, turn: Turn) -> None:
        if turn.surface:
            self.counters.uncount(day, turn)

    def left(self) -> float | None:
        """The share of the day's tokens, 0 to 1; None without a limit, or while nothing is counted."""
        day = Day.of(self.budgets.clock())
        if self.plan.tokens is None or (used := self.counters.used(self.purse, day, self.instance.domain)) is None:
            return None
        return max(0.0, 1 - used[0] / self.plan.tokens) if self.plan.tokens else 0.0

    def used(self, day: Day) -> list[int]:
        """The tokens, and the questions of each surface."""
        until = time.monotonic() + COUNTED_WITHIN
        while (used := self.counters.used(self.purse, day, self.instance.domain, SURFACES)) is None:
            if not self.count_again(day):
                if time.monotonic() > until:
                    raise Retryable("what was used of the AI budget is being counted")
                time.sleep(LOOK_EVERY)
        return used

    def count_again(self, day: Day) -> bool:
        """From the messages, where Redis was emptied since the day began. False while another process does."""
        since = self.counters.since(self.budgets.clock())
        if since <= day.begins:
            self.counters.counted(self.purse, day)
            return True
        lock = self.counters.lock(self.purse, day)
        try:
            if not lock.acquire():
                return False
        except RedisError as error:
            raise Retryable("what was used of the AI budget is not known: Redis does not answer") from error
        try:
            return self._count(day, since)
        finally:
            with suppress(RedisError, LockError):
                lock.release()

    def _count(self, day: Day, since: float) -> bool:
        log.info("%s: what %s has used is counted again", self.instance.domain, day.date)
        for member in self._members():
            self.counters.settle(self.purse, day, turns_of(self.budgets.store, member, day), count=True)
        if self.counters.since(self.budgets.clock()) != since:  # emptied once more
            return False
        self.counters.counted(self.purse, day)
        return True

    def _members(self) -> Iterator[Instance]:
        if not self.instance.org_id:
            yield self.instance
            return
        yield from members_of(self.budgets.store, self.instance.org_id)
