import threading
from types import SimpleNamespace
from typing import Any

import pytest

from ragcore.errors import Conflict, RagcoreError, Retryable
from ragcore.indexing import apply as apply_module
from ragcore.indexing.apply import Tally, chunks, side_by_side
from ragcore.indexing.sync import Outcome


class FakeRun:
    """What side_by_side needs of a run; `away` is what a look at openRAG raises."""

    def __init__(self, parallel: int, away: Exception | None = None) -> None:
        self.settings = SimpleNamespace(parallel_requests=parallel)
        self.away = away
        self.looks = 0

    def require_openrag(self) -> None:
        self.looks += 1
        if self.away:
            raise self.away


def all_of(items: Any, apply: Any, parallel: int, tally: Tally) -> list[Any]:
    return side_by_side(FakeRun(parallel), items, apply, str, tally)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short waits between two attempts at one file take no time."""
    monkeypatch.setattr(apply_module._again, "sleep", lambda seconds: None)


def test_one_that_fails_keeps_no_other_from_being_done() -> None:
    done, tally, waits = set(), Tally(), Retryable("later", 7)

    def apply(item: int) -> Outcome:
        if item % 2:
            raise waits
        done.add(item)
        return Outcome.INDEXED

    all_of(range(10), apply, 3, tally)
    assert done == {0, 2, 4, 6, 8}
    assert tally.counts == {Outcome.INDEXED: 5, Outcome.FAILED: 5}
    assert sorted(tally.failures) == [(str(item), waits) for item in (1, 3, 5, 7, 9)]


def test_any_error_of_one_file_is_counted_and_the_job_tried_again() -> None:
    def apply(item: int) -> Outcome:
        raise Conflict("written by somebody else") if item else Retryable("busy", 40)

    tally = Tally()
    all_of([0, 1], apply, 2, tally)
    assert tally.counts == {Outcome.FAILED: 2}
    error = tally.to_retry()
    assert error.retry_after == 40
    assert str(error) in ("2 failed, 0 first: busy", "2 failed, 1 first: written by somebody else")


def test_a_bug_that_one_odd_file_shows_stops_no_other() -> None:
    def apply(item: int) -> Outcome:
        return {1: Outcome.INDEXED}[item]

    tally = Tally()
    all_of([1, 2], apply, 2, tally)
    assert tally.counts == {Outcome.INDEXED: 1, Outcome.FAILED: 1}


def test_as_many_as_allowed_are_done_at_once() -> None:
    together = threading.Barrier(3, timeout=10)

    def apply(item: int) -> Outcome:
        together.wait()
        return Outcome.INDEXED

    tally = Tally()
    all_of(range(6), apply, 3, tally)
    assert tally.counts[Outcome.INDEXED] == 6


def test_no_more_than_allowed_are_done_at_once() -> None:
    lock, running, most = threading.Lock(), 0, 0
    pair = threading.Barrier(2, timeout=10)

    def apply(item: int) -> Outcome:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait()
        with lock:
            running -= 1
        pair.wait()
        return Outcome.INDEXED

    all_of(range(6), apply, 2, Tally())
    assert most == 2


def test_a_tally_in_words() -> None:
    tally = Tally()
    assert str(tally) == "nothing"
    tally.counts.update({Outcome.UP_TO_DATE: 2, Outcome.INDEXED: 1})
    assert str(tally) == "1 indexed, 2 up to date"


def test_a_tally_does_not_tell_of_none() -> None:
    tally = Tally()
    tally.counts[Outcome.SKIPPED] += 0
    assert str(tally) == "nothing"


def test_what_passes_soon_is_tried_again_at_once() -> None:
    left = {1: 2, 2: 3}

    def apply(item: int) -> Outcome:
        left[item] -= 1
        if left[item] >= 0:
            raise Retryable("busy")
        return Outcome.INDEXED

    tally = Tally()
    all_of([1, 2], apply, 2, tally)
    assert tally.counts == {Outcome.INDEXED: 1, Outcome.FAILED: 1}


@pytest.mark.parametrize("error", [Retryable("come back later", 60), Conflict("no"), RagcoreError("a bug")])
def test_what_does_not_pass_soon_is_left_to_the_job(error: RagcoreError) -> None:
    tries = []

    def apply(item: int) -> Outcome:
        tries.append(item)
        raise error

    all_of([1], apply, 2, Tally())
    assert tries == [1]


def test_the_server_says_how_long_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(apply_module._again, "sleep", waits.append)

    def apply(item: int) -> Outcome:
        raise Retryable("busy", 2) if item else Retryable("busy")

    all_of([1], apply, 1, Tally())
    all_of([0], apply, 1, Tally())
    assert waits == [2, 2, 0.2, 0.4]


def test_an_outage_is_not_learnt_from_a_thousand_files() -> None:
    run, tries = FakeRun(4, Retryable("openRAG is away")), []

    def apply(item: int) -> Outcome:
        tries.append(item)
        raise Retryable("no answer", 60)

    with pytest.raises(Retryable, match="openRAG is away"):
        side_by_side(run, range(1000), apply, str, Tally())  # type: ignore[arg-type]
    assert len(tries) <= 8
    assert run.looks == 1


def test_bad_files_in_a_row_are_no_outage() -> None:
    run, tally = FakeRun(4), Tally()

    def apply(item: int) -> Outcome:
        if item < 20:
            raise Retryable("no answer", 60)
        return Outcome.INDEXED

    side_by_side(run, range(40), apply, str, tally)  # type: ignore[arg-type]
    assert tally.counts == {Outcome.FAILED: 20, Outcome.INDEXED: 20}
    assert run.looks >= 4


def test_an_item_is_taken_when_a_thread_is_free_for_it() -> None:
    taken: list[int] = []
    gate = threading.Semaphore(0)

    def items() -> Any:
        for item in range(6):
            taken.append(item)
            if len(taken) == 3:
                assert taken == [0, 1, 2]
                gate.release(10)
            yield item

    def apply(item: int) -> Outcome:
        assert gate.acquire(timeout=10)
        return Outcome.INDEXED

    tally = Tally()
    side_by_side(FakeRun(3), items(), apply, str, tally)  # type: ignore[arg-type]
    assert tally.counts[Outcome.INDEXED] == 6


def test_a_tally_names_what_failed_up_to_a_bound() -> None:
    tally = Tally()
    for number in range(apply_module.NAMED + 2):
        tally.take(str(number), Retryable("no"))
    assert tally.names().startswith("0, 1, 2")
    assert tally.names().endswith("999 and 2 more")
    assert str(tally.to_retry()) == "1002 failed, 0 first: no"


def test_chunks() -> None:
    assert list(chunks(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(chunks([])) == []
