"""The counts of a day, on a real Redis."""

import time
import uuid
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.budgets.counters import KEPT, Counters, Hold, Purse, Turn
from ragcore.budgets.day import Day
from ragcore.runtime import Runtime

DAY = Day("2026-12-02")
MINUTE = 60.0
QUESTIONS = st.sampled_from(["q1", "q2", "q3", "q4"])


@dataclass
class Bench:
    """A purse of its own, as the issue wants it to be counted: by questions that are told their totals."""

    counters: Counters
    purse: Purse
    limit: int | None = 100
    totals: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    largest: int = 0

    @property
    def used(self) -> int:
        return sum(self.totals.values())

    def reserve(self, question: str, estimate: int, lasts: float = MINUTE) -> Hold:
        turn = Turn(self.purse.name, question)
        hold, _ = self.counters.reserve(self.purse, DAY, turn, estimate, (self.limit, None), lasts)
        return hold

    def settle(self, question: str, total: int) -> None:
        self.counters.settle(self.purse, DAY, [Turn(self.purse.name, question, tokens=total)])

    def counted(self) -> list[int] | None:
        return self.counters.used(self.purse, DAY, self.purse.name)


@pytest.fixture(scope="module")
def counters(runtime: Runtime) -> Counters:
    return Counters(runtime.redis)


@pytest.fixture
def bench(counters: Counters) -> Bench:
    return new_bench(counters)


def new_bench(counters: Counters) -> Bench:
    bench = Bench(counters, Purse(f"{uuid.uuid4().hex}.localhost"))
    counters.counted(bench.purse, DAY)
    return bench


steps = st.one_of(
    st.tuples(st.just("reserve"), QUESTIONS, st.integers(1, 80)),
    st.tuples(st.just("settle"), QUESTIONS, st.integers(0, 120)),
)


@settings(max_examples=40)
@given(done=st.lists(steps, max_size=25))
def test_whatever_is_reserved_and_settled(counters: Counters, done: list[tuple[str, str, int]]) -> None:
    bench = new_bench(counters)
    for what, question, n in done:
        before = bench.held.pop(question, None)
        if what == "settle":
            bench.settle(question, n)
            bench.largest = max(bench.largest, n - bench.totals.get(question, 0))
            bench.totals[question] = max(n, bench.totals.get(question, 0))
        else:
            reached = bench.used + sum(bench.held.values()) >= 100
            wanted = Hold.SPENT if bench.used >= 100 else Hold.BUSY if reached else Hold.HELD
            assert bench.reserve(question, n) is wanted, (done, before)
            if wanted is Hold.HELD:
                bench.held[question] = max(n, bench.largest)
        assert bench.counted() == [bench.used]


@settings(max_examples=25)
@given(spent=st.lists(st.integers(1, 60), min_size=1, max_size=30), estimate=st.integers(60, 90))
def test_no_more_than_one_answer_is_overspent(counters: Counters, spent: list[int], estimate: int) -> None:
    """As long as none is larger than its estimate: all ask at once, and are settled once no other may go."""
    bench = new_bench(counters)
    waiting, running = [f"q{n}" for n in range(len(spent))], []
    cost = dict(zip(waiting, spent, strict=True))
    while waiting:
        hold = bench.reserve(waiting[0], estimate)
        if hold is Hold.SPENT:
            break
        if hold is Hold.HELD:
            running.append(waiting.pop(0))
        else:
            ended = running.pop()
            bench.settle(ended, cost[ended])
    for question in running:
        bench.settle(question, cost[question])
    (used,) = bench.counted() or [0]
    assert used < 100 + max(spent)
    assert used >= min(100, sum(spent))  # and nobody is refused while something is left


def test_what_a_killed_worker_has_reserved_ends(bench: Bench) -> None:
    assert bench.reserve("killed", 100, lasts=0.05) is Hold.HELD
    assert bench.reserve("next", 10, lasts=0.05) is Hold.BUSY
    time.sleep(0.06)
    assert bench.reserve("next", 10) is Hold.HELD


def test_what_a_clock_that_was_set_back_has_reserved_ends(bench: Bench) -> None:
    assert bench.reserve("before", 100, lasts=24 * 3600) is Hold.HELD
    assert bench.reserve("next", 10) is Hold.HELD


def test_what_is_not_used_is_given_back(bench: Bench) -> None:
    assert bench.reserve("one", 100) is Hold.HELD
    bench.settle("one", 0)
    assert bench.reserve("next", 10) is Hold.HELD
    assert bench.counted() == [0]


def test_a_call_of_the_same_question_reserves_instead_of_the_one_before(bench: Bench) -> None:
    for _ in range(3):
        assert bench.reserve("one", 90) is Hold.HELD


def test_the_largest_call_is_what_the_next_is_expected_to_use(bench: Bench) -> None:
    bench.limit = 1000
    bench.settle("one", 400)
    assert [bench.reserve(name, 1) for name in ("two", "three", "four")] == [Hold.HELD, Hold.HELD, Hold.BUSY]


def test_without_a_limit_everything_is_counted(bench: Bench) -> None:
    bench.limit = None
    for n in range(5):
        assert bench.reserve(f"q{n}", 10**9) is Hold.HELD
        bench.settle(f"q{n}", 1000)
    assert bench.counted() == [5000]


def test_questions_of_a_surface_are_counted_once_each(bench: Bench) -> None:
    domain = bench.purse.name

    def ask(question: str) -> bool:
        turn = Turn(domain, question, "ask")
        return bench.counters.reserve(bench.purse, DAY, turn, 1, (None, 2), MINUTE)[1]

    assert [ask(question) for question in ("q1", "q1", "q2", "q3", "q1", "q2")] == [True, True, True, False, True, True]
    assert bench.counters.used(bench.purse, DAY, domain, ["ask", "agent"]) == [0, 2, 0]
    bench.counters.uncount(DAY, Turn(domain, "q2", "ask"))
    assert ask("q3")


def test_nothing_is_given_away_before_it_is_counted(counters: Counters) -> None:
    bench = Bench(counters, Purse(f"{uuid.uuid4().hex}.localhost"))
    assert (bench.reserve("one", 1), bench.counted()) == (Hold.UNCOUNTED, None)
    bench.settle("one", 40)  # its worker has not heard that Redis was emptied
    assert (bench.reserve("one", 1), bench.counted()) == (Hold.UNCOUNTED, None)
    counters.counted(bench.purse, DAY)
    bench.settle("one", 40)  # found in its messages
    assert bench.counted() == [40]


def test_a_day_and_another_purse_have_counts_of_their_own(bench: Bench) -> None:
    bench.settle("one", 40)
    other = Purse.of("alice.localhost", bench.purse.name)
    for purse, day in ((bench.purse, Day("2026-12-03")), (other, DAY)):
        bench.counters.counted(purse, day)
        assert bench.counters.used(purse, day, "alice.localhost") == [0]


def test_an_organisation_is_no_domain() -> None:
    assert Purse.of("org.localhost", "") != Purse.of("alice.localhost", "org.localhost")
    assert Purse.of("a.localhost", "1}:x") == Purse.of("b.localhost", "1}:x")
    assert Purse.of("a.localhost", "1}:x").key(DAY, "tokens").count("}") == 1


def test_a_redis_that_does_not_know_the_scripts_is_told_them(bench: Bench, runtime: Runtime) -> None:
    runtime.redis.script_flush()
    bench.settle("one", 40)
    runtime.redis.script_flush()
    assert (bench.reserve("two", 10), bench.counted()) == (Hold.HELD, [40])


def test_the_counts_go_after_the_day(bench: Bench, runtime: Runtime) -> None:
    bench.counters.reserve(bench.purse, DAY, Turn(bench.purse.name, "one", "ask"), 1, (None, None), MINUTE)
    keys = list(runtime.redis.scan_iter(f"ragcore:budget:{{{bench.purse.name}}}:*"))
    assert len(keys) == 3
    assert all(0 < runtime.redis.ttl(key) <= KEPT for key in keys)
