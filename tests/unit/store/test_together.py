"""Documents that are saved side by side."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from ragcore.errors import Conflict, Retryable
from ragcore.store.together import Together

Doc = dict[str, Any]


class Database:
    """Its first write waits until it is told to go on."""

    def __init__(self, answer: Callable[[list[Doc]], list[Doc | None]]) -> None:
        self.writes: list[list[Doc]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._answer = answer

    def write(self, docs: list[Doc]) -> list[Doc | None]:
        self.writes.append(docs)
        self.begun.set()
        if len(self.writes) == 1:
            assert self.go_on.wait(10)
            return [{**doc, "_rev": "1-a"} for doc in docs]
        return self._answer(docs)


def side_by_side(database: Database, count: int) -> list[Future[Doc]]:
    """The first one is being written when all others come."""
    together = Together(database.write)
    saves = [together.save({"_id": "0"})]
    assert database.begun.wait(10)
    saves += [together.save({"_id": str(number)}) for number in range(1, count)]
    database.go_on.set()
    return saves


def saved(docs: list[Doc]) -> list[Doc | None]:
    return [{**doc, "_rev": "1-b"} for doc in docs]


def test_who_comes_during_a_write_is_written_with_the_others() -> None:
    database = Database(saved)
    results = [save.result(10) for save in side_by_side(database, 6)]
    assert [doc["_id"] for doc in results] == list("012345")
    assert [doc["_rev"] for doc in results] == ["1-a", *["1-b"] * 5]
    assert [len(docs) for docs in database.writes] == [1, 5]


def test_a_conflict_is_told_to_its_own_alone() -> None:
    database = Database(lambda docs: [None if doc["_id"] == "2" else doc for doc in docs])
    saves = side_by_side(database, 4)
    with pytest.raises(Conflict):
        saves[2].result(10)
    assert [saves[number].result(10)["_id"] for number in (0, 1, 3)] == ["0", "1", "3"]


def test_a_write_that_fails_is_told_to_all_of_it_and_to_nobody_else() -> None:
    def away(docs: list[Doc]) -> list[Doc | None]:
        raise Retryable("away")

    first, *others = side_by_side(Database(away), 4)
    assert first.result()["_id"] == "0"
    for save in others:
        with pytest.raises(Retryable):
            save.result(10)


def test_an_answer_of_too_few_leaves_nobody_waiting() -> None:
    _, *others = side_by_side(Database(lambda docs: docs[1:]), 4)
    for save in others:
        with pytest.raises(ValueError, match="shorter"):
            save.result(10)


def test_a_database_that_is_back_is_written_to() -> None:
    answers = iter([Retryable("away"), None])

    def write(docs: list[Doc]) -> list[Doc | None]:
        if error := next(answers):
            raise error
        return list(docs)

    together = Together(write)
    with pytest.raises(Retryable):
        together.save({"_id": "a"}).result(10)
    assert together.save({"_id": "b"}).result(10) == {"_id": "b"}
