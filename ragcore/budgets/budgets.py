"""The budgets of instances: whose plan says what, whose purse it is, and what a day has used."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from redis import Redis

from ragcore.budgets.budget import Budget
from ragcore.budgets.counters import Counters, Purse, Turn
from ragcore.budgets.day import Day
from ragcore.budgets.plans import plan_of
from ragcore.budgets.recount import COUNTED_AS, SURFACES, turns_of
from ragcore.budgets.spending import Planned, Spending, nothing_to_check
from ragcore.config import Config, Plan
from ragcore.instances import Instance
from ragcore.store import Store

Json = dict[str, Any]


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
        turn = Turn(instance.domain, question, COUNTED_AS.get(surface, ""))
        return Planned(budget, Day.of(at or self.clock()), turn, check)

    def of(self, instance: Instance) -> Budget | None:
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
