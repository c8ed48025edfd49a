from typing import Any

import pytest

from ragcore.config import Config, Context
from ragcore.errors import Invalid
from ragcore.instances import Instance
from ragcore.memories import gate
from ragcore.memories.gate import is_reviewed
from ragcore.memories.memory import LONGEST, checked_confidence, checked_text


@pytest.mark.parametrize(
    ("confidence", "asked", "review", "status"),
    [
        (1, True, False, "active"),
        (0.8, True, False, "active"),
        (0.79, True, False, "pending"),
        (0, True, False, "pending"),
        (1, True, True, "pending"),
        (1, False, False, "pending"),  # a document must not write memories
        (1, False, True, "pending"),
    ],
)
def test_the_write_gate(confidence: float, asked: bool, review: bool, status: str) -> None:
    assert gate(confidence, asked=asked, review=review) == status


@pytest.mark.parametrize(
    ("own", "of_context", "reviewed"),
    [(None, None, False), (True, None, True), (None, True, True), (False, True, False), (False, None, False)],
)
def test_review_is_a_flag_of_the_instance_or_of_its_context(own: Any, of_context: Any, reviewed: bool) -> None:
    config = Config(contexts={"default": Context(features={"ai.memories.review": of_context})})
    flags = {} if own is None else {"ai.memories.review": own}
    assert is_reviewed(config, Instance("a.localhost", "a.localhost", flags=flags)) == reviewed


@pytest.mark.parametrize("text", ["", " \n", None, 7, ["x"], "x" * (LONGEST + 1)])
def test_what_is_no_text_of_a_memory(text: Any) -> None:
    with pytest.raises(Invalid) as caught:
        checked_text(text)
    assert caught.value.pointer == "/text"


def test_a_text_is_trimmed_and_whole() -> None:
    assert checked_text(" Ada \n") == "Ada"
    assert checked_text("\ud83d!") == "�!"
    assert checked_text(" " + "x" * LONGEST) == "x" * LONGEST


@pytest.mark.parametrize("confidence", [-0.1, 1.1, 80, "0.9", None, True, float("nan"), [1]])
def test_what_is_no_confidence(confidence: Any) -> None:
    with pytest.raises(Invalid) as caught:
        checked_confidence(confidence)
    assert caught.value.pointer == "/confidence"


@pytest.mark.parametrize("confidence", [0, 1, 0.5])
def test_a_confidence(confidence: float) -> None:
    assert checked_confidence(confidence) == confidence
