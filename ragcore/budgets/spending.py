"""What one question uses of a budget: reserved before each call of the LLM, settled after it."""

import json
import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ragcore.budgets.counters import Turn
from ragcore.budgets.day import Day
from ragcore.budgets.errors import Spent
from ragcore.budgets.recount import estimate
from ragcore.errors import Retryable
from ragcore.openrag.completions import Chunk, Usage

if TYPE_CHECKING:
    from ragcore.budgets.budget import Budget

log = logging.getLogger(__name__)

Json = dict[str, Any]

ALLOWANCE = 16384  # tokens: an answer, and the passages that openRAG adds to the question
AGAIN_AFTER = 0.2  # seconds


def nothing_to_check() -> None:
    pass


def not_now() -> None:
    """The `check` of who does not wait for others' calls."""
    raise Retryable("answers that are under way may use what is left of the AI budget", 2)


class Call:
    """One call: what the LLM says of its tokens, and what could be counted without that."""

    def __init__(self, asked: int = 0) -> None:
        self._usage = Usage()
        self._asked = asked  # characters
        self._said: int | None = None  # characters; None: it has not answered

    def take(self, chunk: Chunk) -> None:
        self._usage = chunk.usage or self._usage  # some tell it with each chunk: the last one counts
        said = len(chunk.content) + len(chunk.reasoning) + sum(len(str(call)) for call in chunk.tool_calls)
        self._said = (self._said or 0) + said

    @property
    def tokens(self) -> int:
        if self._usage:
            return self._usage.total_tokens
        return 0 if self._said is None else estimate(self._asked + self._said)


class Spending:
    """That of an instance without a plan: nothing is counted."""

    @contextmanager
    def question(self, asked: Sequence[Json]) -> Iterator[None]:
        """While it is answered. `asked` are the messages up to it. Raises Spent."""
        yield

    @contextmanager
    def call(self, body: Json) -> Iterator[Call]:
        """While the LLM is asked. Raises Spent."""
        yield Call()


@dataclass
class Planned(Spending):
    """Of an instance with a plan: its question is answered on the day on which it was asked."""

    budget: "Budget"
    day: Day
    turn: Turn
    check: Callable[[], None]
    _held: bool = field(default=False, init=False)
    _told: bool = field(default=True, init=False)  # whether Redis knows the total
    _begun: bool = field(default=False, init=False)

    @contextmanager
    def question(self, asked: Sequence[Json]) -> Iterator[None]:
        """The first call is reserved before anything is done for it; what is not used is given back."""
        self._reserve(sum(len(str(message.get("content") or "")) for message in asked))
        try:
            yield
        finally:
            if self._held or not self._told:
                self._settle()

    @contextmanager
    def call(self, body: Json) -> Iterator[Call]:
        characters = _characters([body.get("messages"), body.get("tools")])
        if not self._held:
            self._reserve(characters)
        call = Call(characters)
        try:
            yield call
        finally:
            self.turn = replace(self.turn, tokens=self.turn.tokens + call.tokens)
            self._settle()

    def _reserve(self, characters: int) -> None:
        """Waits while calls that are under way may use what is left."""
        try:
            while not self.budget.reserve(self.day, self.turn, ALLOWANCE + estimate(characters)):
                self.check()
                time.sleep(AGAIN_AFTER * random.uniform(0.5, 1))  # noqa: S311
        except Spent:
            self._refuse()
            raise
        self._held = self._begun = True

    def _refuse(self) -> None:
        self._settle()
        if not self._begun:
            with suppress(Retryable):
                self.budget.uncount(self.day, self.turn)

    def _settle(self) -> None:
        """An answer does not fail for it. What Redis is not told now it is told behind the answer, by the total."""
        try:
            self.budget.settle(self.day, self.turn)
        except Retryable as error:
            log.warning("%s: what question %s used is not counted: %s", self.turn.domain, self.turn.question, error)
            self._told = False
        else:
            self._told = True
        self._held = False


def _characters(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str))
