import logging

import pytest

from ragcore.memories import ACTIVE, Memory, scores
from ragcore.memories.ranking import rank

TEXTS = [
    "The boiler is serviced each May.",
    "Ada's sister lives in Oslo.",
    "La chaudière du chalet est révisée en octobre.",
    "The lease of the flat ends in June.",
    "Ada is allergic to nuts.",
]
MEMORIES = [Memory(text, 1.0, ACTIVE, id=str(number)) for number, text in enumerate(TEXTS)]


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("When are boilers serviced?", ["0"]),
        ("Where does the sister of Ada live?", ["1", "4"]),
        ("Quand la CHAUDIERE est-elle révisée ?", ["2"]),
        ("When does the lease end, and what is Ada allergic to?", ["3", "4", "1"]),
        ("What is the weather?", []),
        ("What is it?", []),
        ("", []),
    ],
)
def test_the_best_first(question: str, ids: list[str]) -> None:
    ranked = rank(question, MEMORIES, 10)
    assert [memory.id for memory, _ in ranked] == ids
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)


def test_so_many_at_most() -> None:
    assert len(rank("Ada", MEMORIES, 1)) == 1
    assert rank("Ada", [], 1) == []


def test_each_text_has_a_score() -> None:
    found = scores("boiler", ["", "the", "boiler", "x"])
    assert [score > 0 for score in found] == [False, False, True, False]
    assert scores("boiler", [""]) == [0.0]
    assert scores("boiler", []) == []


def test_one_memory_alone_is_found() -> None:
    assert scores("boiler", ["The boiler"])[0] > 0


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        scores("boiler", TEXTS)
    assert caplog.records == []


def test_a_thousand_are_ranked() -> None:
    many = [
        Memory(f"The meter {n} stands in room {n % 7} of house {n % 31}.", 1.0, ACTIVE, id=str(n)) for n in range(1000)
    ]
    assert rank("Where is meter 527?", many, 4)[0][0].id == "527"
