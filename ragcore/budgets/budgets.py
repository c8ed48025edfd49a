"""The budgets of instances: whose plan says what, whose purse it is, and what a day has used."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from redis import Redis
from redis.exceptions import LockError, RedisError

from ragcore.budgets.counters import Counters, Hold, Purse, Turn
from ragcore.budgets.day import Day
from ragcore.budgets.errors import Spent
from ragcore.budgets.plans import plan_of
from ragcore.budgets.recount import SURFACES, turns_of
from ragcore.budgets.spending import Planned, Spending, nothing_to_check
from ragcore.config import Config, Plan
from ragcore.errors import Retryable
from ragcore.instances import Instance, members_of
from ragcore.store import Store

log = logging.getLogger(__name__)

Json = dict[str, Any]

COUNTED_WITHIN = 5.0  # seconds that a request waits for another process that counts again
LOOK_EVERY = 0.1  # seconds


@dataclass(frozen=True)
class Budgets:
    config: Config
    redis: Redis
    store: Store
    clock: Callable[[], float] = time.time

    @cached_property
    def counters(self) -> Counters:
        return Counters(self.redis)

    def spending(
        self,
        instance: Instance,
        question: str,
        at: float,
        check: Callable[[], None] = nothing_to_check,
        surface: str = "",
    ) -> Spending:
        """What a question uses that was asked `at` this Unix time. `check` may end the wait for others, by an error."""
        if (budget := self.of(instance)) is None:
            return Spending()
        turn = Turn(instance.domain, question, surface if surface in SURFACES else "")
        return Planned(budget, Day.of(at or self.clock()), turn, check)

    def of(self, instance: Instance) -> "Budget | None":
        """None without a plan."""
        found = plan_of(self.config, instance)
        return Budget(self, instance, *found) if found else None

    def release(self, instance: Instance, question: str) -> None:
        """Its worker was killed: what it has reserved is nobody's. Raises Retryable."""
        if self.config.plans:
            today, purse = Day.of(self.clock()), Purse.of(instance.domain, instance.org_id)
            for day in (today, today.before):
                self.counters.settle(purse, day, [Turn(instance.domain, question)])

    def usage(self, instance: Instance) -> Json:
        """What `GET /api/usage` tells. Without a plan it is read from the messages. Raises Retryable."""
        day, budget = Day.of(self.clock()), self.of(instance)
        if budget is None:
            name, plan = None, Plan()
            turns = list(turns_of(self.store, instance, day))
            used = [sum(turn.tokens for turn in turns), *(_count(turns, surface) for surface in SURFACES)]
        else:
            name, plan, used = budget.name, budget.plan, budget.used(day)
        limits = (plan.tokens, *(getattr(plan, surface) for surface in SURFACES))
        names = ("tokens", *SURFACES)
        told = {name: {"used": n, "limit": limit} for name, n, limit in zip(names, used, limits, strict=True)}
        return {"plan": name, **told, "resetAt": day.reset_at}


def _count(turns: list[Turn], surface: str) -> int:
    return len([turn for turn in turns if turn.surface == surface])


@dataclass(frozen=True)
class Budget:
    """Of an instance with a plan. Each call raises Retryable."""

    budgets: Budgets
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
        if hold is Hold.UNCOUNTED and self.count_again(day):
            return self.reserve(day, turn, tokens)
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
        since = self.counters.since(now := self.budgets.clock())
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
            return self._count(day, since, now)
        finally:
            with suppress(RedisError, LockError):
                lock.release()

    def _count(self, day: Day, since: float, now: float) -> bool:
        log.info("%s: what %s has used is counted again", self.instance.domain, day.date)
        for member in self._members():
            self.counters.settle(self.purse, day, turns_of(self.budgets.store, member, day), count=True)
        if self.counters.since(now) != since:  # emptied once more
            return False
        self.counters.counted(self.purse, day)
        return True

    def _members(self) -> Iterator[Instance]:
        if not self.instance.org_id:
            yield self.instance
            return
        yield from members_of(self.budgets.store, self.instance.org_id)
