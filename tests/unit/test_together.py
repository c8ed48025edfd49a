"""What several threads ask for at the same time."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import pytest

from ragcore.errors import Conflict, Retryable
from ragcore.together import BATCH, Together

OF_ANOTHER = -1  # the item of another key
Answer = Callable[[list[int]], Sequence[int | Exception]]


class Work:
    """The first batch waits until it is told to go on."""

    def __init__(self, answer: Answer) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._answer = answer

    def do(self, items: list[int]) -> Sequence[int | Exception]:
        if items == [OF_ANOTHER]:
            return items
        self.batches.append(items)
        self.begun.set()
        if len(self.batches) == 1:
            assert self.go_on.wait(10)
            return items
        return self._answer(items)


def side_by_side(work: Work, count: int) -> list[Future[int]]:
    """The first one is being worked on when all others come."""
    together = Together(work.do)
    added = [together.add("a", 0)]
    assert work.begun.wait(10)
    added += [together.add("a", number) for number in range(1, count)]
    work.go_on.set()
    return added


def test_who_comes_meanwhile_is_worked_on_with_the_others() -> None:
    work = Work(lambda items: [10 * item for item in items])
    assert [done.result(10) for done in side_by_side(work, 6)] == [0, 10, 20, 30, 40, 50]
    assert work.batches == [[0], [1, 2, 3, 4, 5]]


def test_a_batch_is_bounded() -> None:
    work = Work(lambda items: items)
    added = side_by_side(work, BATCH + 3)
    assert [done.result(10) for done in added] == list(range(BATCH + 3))
    assert list(map(len, work.batches)) == [1, BATCH, 2]


def test_another_key_waits_for_nobody() -> None:
    work = Work(lambda items: items)
    together = Together(work.do)
    first = together.add("a", 1)
    assert together.add("b", OF_ANOTHER).result(10) == OF_ANOTHER
    assert not first.done()
    work.go_on.set()
    assert first.result(10) == 1


def test_an_error_is_told_to_its_own_alone() -> None:
    work = Work(lambda items: [Conflict("no") if item == 2 else item for item in items])
    added = side_by_side(work, 4)
    with pytest.raises(Conflict):
        added[2].result(10)
    assert [added[number].result(10) for number in (0, 1, 3)] == [0, 1, 3]


def test_work_that_fails_is_told_to_its_whole_batch_and_to_nobody_else() -> None:
    def away(items: list[int]) -> list[int]:
        raise Retryable("away")

    first, *others = side_by_side(Work(away), 4)
    assert first.result(10) == 0
    for done in others:
        with pytest.raises(Retryable):
            done.result(10)


def test_too_few_results_leave_nobody_waiting() -> None:
    _, *others = side_by_side(Work(lambda items: items[1:]), 4)
    for done in others:
        with pytest.raises(ValueError, match="shorter"):
            done.result(10)


def test_a_failure_is_not_the_end() -> None:
    answers = iter([Retryable("away"), None])

    def work(items: list[int]) -> list[int]:
        if error := next(answers):
            raise error
        return items

    together = Together(work)
    with pytest.raises(Retryable):
        together.add("a", 1).result(10)
    assert together.add("a", 2).result(10) == 2


def test_nothing_stays_behind_it(until: Callable[..., object]) -> None:
    before = set(threading.enumerate())
    together = Together(lambda items: items)
    assert [together.add(key, 1).result(10) for key in ("a", "b")] == [1, 1]
    until(lambda: set(threading.enumerate()) <= before)
    assert not together._waiting


def test_a_process_without_threads_left_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    together = Together(lambda items: items)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", _none_left)
        with pytest.raises(RuntimeError, match="thread"):
            together.add("a", 1)
    assert together.add("a", 2).result(10) == 2


def _none_left(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
