import threading

from ragcore.errors import Conflict, Retryable
from ragcore.indexing.apply import Tally, side_by_side
from ragcore.indexing.sync import Outcome


def test_one_that_fails_keeps_no_other_from_being_done() -> None:
    done, tally, waits = set(), Tally(), Retryable("later", 7)

    def apply(item: int) -> Outcome:
        if item % 2:
            raise waits
        done.add(item)
        return Outcome.INDEXED

    side_by_side(range(10), apply, str, 3, tally)
    assert done == {0, 2, 4, 6, 8}
    assert tally.counts == {Outcome.INDEXED: 5, Outcome.FAILED: 5}
    assert tally.failures == [(str(item), waits) for item in (1, 3, 5, 7, 9)]


def test_any_error_of_one_file_is_counted_and_the_job_tried_again() -> None:
    def apply(item: int) -> Outcome:
        raise Conflict("written by somebody else") if item else Retryable("busy", 40)

    tally = Tally()
    side_by_side([0, 1], apply, str, 2, tally)
    assert tally.counts == {Outcome.FAILED: 2}
    error = tally.to_retry()
    assert error.retry_after == 40
    assert str(error) == "2 failed, 0 first: busy"


def test_a_bug_that_one_odd_file_shows_stops_no_other() -> None:
    def apply(item: int) -> Outcome:
        return {1: Outcome.INDEXED}[item]

    tally = Tally()
    side_by_side([1, 2], apply, str, 2, tally)
    assert tally.counts == {Outcome.INDEXED: 1, Outcome.FAILED: 1}


def test_as_many_as_allowed_are_done_at_once() -> None:
    together = threading.Barrier(3, timeout=10)

    def apply(item: int) -> Outcome:
        together.wait()
        return Outcome.INDEXED

    tally = Tally()
    side_by_side(range(6), apply, str, 3, tally)
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

    side_by_side(range(6), apply, str, 2, Tally())
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
