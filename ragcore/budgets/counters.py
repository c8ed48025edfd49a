"""The counts of a day in Redis, each change in one step.

Tokens are counted by question, each with its total: what is told twice, or found again in the messages after Redis was
emptied, counts once. Before each call of the LLM an estimate is held. While what is held and what is used reach the
limit, the next call waits for a figure: nobody is refused what may be left, and nothing is given away twice.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import quote

from redis import Redis
from redis.commands.core import Script
from redis.exceptions import NoScriptError, RedisError
from redis.lock import Lock

from ragcore.budgets.day import Day
from ragcore.budgets.scripts import COUNT, RESERVE, SETTLE
from ragcore.errors import retryable

SINCE = "ragcore:budget:since"  # the Unix time from which on this Redis has lost nothing
KEPT = 2 * 24 * 3600  # seconds after the last change: the day after, a clock may be set back, or an answer end
COUNTING = 60.0  # seconds that a process may take to count again
Run = tuple[Script, tuple[str, ...], list[Any]]  # of a script, with its KEYS and ARGV


class Hold(Enum):
    """What becomes of a call that is to be made."""

    UNCOUNTED = "uncounted"  # what the day has used so far is not known
    SPENT = "spent"
    BUSY = "busy"  # something is left, and calls that are under way may use it
    HELD = "held"


@dataclass(frozen=True)
class Purse:
    """Whose tokens are counted together: those of an instance, or of an organisation's members."""

    name: str

    @classmethod
    def of(cls, domain: str, org_id: str) -> "Purse":
        return cls(f"org/{quote(org_id, safe='')}" if org_id else domain)

    def key(self, day: Day, what: str) -> str:
        return f"ragcore:budget:{{{self.name}}}:{day.date}:{what}"

    def keys(self, day: Day) -> tuple[str, str]:
        return self.key(day, "tokens"), self.key(day, "held")


@dataclass(frozen=True)
class Turn:
    """A question, for its surface among those that are counted, and its tokens so far."""

    domain: str
    question: str
    surface: str = ""
    tokens: int = 0

    def keys(self, day: Day) -> tuple[str, ...]:
        return (surface_key(self.domain, day, self.surface),)


def surface_key(domain: str, day: Day, surface: str) -> str:
    return Purse(domain).key(day, f"surface:{surface}")


class Counters:
    """Each call raises Retryable when Redis does not answer. A limit of None is none."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._reserve, self._settle, self._count = map(redis.register_script, (RESERVE, SETTLE, COUNT))

    def reserve(
        self, purse: Purse, day: Day, turn: Turn, estimate: int, limits: tuple[int | None, int | None], lasts: float
    ) -> tuple[Hold, bool]:
        """Whether there are tokens for a call, and whether its surface may answer it, in one round trip.

        `limits` are those of the tokens and of the surface, `lasts` the seconds that a call may take.
        """
        tokens, surface = limits
        args = [turn.question, estimate, _limit(tokens), int(lasts * 1000), KEPT]
        calls: list[Run] = [(self._reserve, purse.keys(day), args)]
        if turn.surface:
            calls.append((self._count, turn.keys(day), [turn.question, _limit(surface), KEPT]))
        held, *may = self._do(calls)
        return Hold(held), all(may)

    def settle(self, purse: Purse, day: Day, turns: Iterable[Turn], count: bool = False) -> None:
        """What is held for them is released, and their totals are counted; where `count`, they themselves too."""
        calls: list[Run] = []
        for turn in turns:
            calls.append((self._settle, purse.keys(day), [turn.question, turn.tokens, KEPT]))
            if count and turn.surface:
                calls.append((self._count, turn.keys(day), [turn.question, -1, KEPT]))
        self._do(calls)

    def _do(self, calls: list[Run]) -> list[Any]:
        """In one round trip. A Redis that was started again does not know the scripts."""
        with _told():
            try:
                return self._pipelined(calls)
            except NoScriptError:
                for script, _, _ in calls:
                    self._redis.script_load(script.script)
                return self._pipelined(calls)

    def _pipelined(self, calls: list[Run]) -> list[Any]:
        with self._redis.pipeline(transaction=False) as pipe:
            for script, keys, args in calls:
                pipe.evalsha(script.sha, len(keys), *keys, *args)
            return pipe.execute() if calls else []

    def uncount(self, day: Day, turn: Turn) -> None:
        """It is not answered."""
        with _told():
            self._redis.srem(*turn.keys(day), turn.question)

    def used(self, purse: Purse, day: Day, domain: str, surfaces: Iterable[str] = ()) -> list[int] | None:
        """The tokens, and the questions of each surface; None where they are to be counted first."""
        with _told(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hmget(purse.keys(day)[0], "counted", "used")
            for surface in surfaces:
                pipe.scard(surface_key(domain, day, surface))
            (counted, used), *questions = pipe.execute()
        return [int(used or 0), *questions] if counted else None

    def since(self, now: float) -> float:
        """When this Redis began to count: `now` where it was empty."""
        with _told():
            before = self._redis.set(SINCE, repr(now), nx=True, get=True)
        return float(str(before)) if before else now

    def counted(self, purse: Purse, day: Day) -> None:
        """From now on the counts are whole."""
        key = purse.keys(day)[0]
        with _told(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hset(key, "counted", "1")
            pipe.expire(key, KEPT)
            pipe.execute()

    def lock(self, purse: Purse, day: Day) -> Lock:
        """Of the one process that counts again."""
        return Lock(self._redis, purse.key(day, "counting"), timeout=COUNTING, blocking=False)


def _limit(limit: int | None) -> int:
    return -1 if limit is None else limit


def _told() -> AbstractContextManager[None]:
    return retryable(RedisError, "what is left of the AI budget is not known: Redis does not answer")
