import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.grounded.cite import Citations, without_citations

# what citations, and what looks like them, are made of
PIECES = ["[", "]", "1", "2", "9", "0", ",", ";", " ", "a", "é", "\n", "[1]", "[7]", " [2]"]
texts = st.lists(st.sampled_from(PIECES)).map("".join)


def said(chunks: Iterable[str], passages: int = 2) -> tuple[str, set[int]]:
    citations = Citations(passages)
    text = "".join([*(citations.take(chunk) for chunk in chunks), citations.rest()])
    return text, citations.cited


@pytest.mark.parametrize(
    ("text", "left", "cited"),
    [
        ("It is red [1].", "It is red [1].", {1}),
        ("It is red [3].", "It is red.", set()),
        ("It is red [1][3][2].", "It is red [1][2].", {1, 2}),
        ("It is red [1, 3; 2].", "It is red [1][2].", {1, 2}),
        ("It is red [01].", "It is red [1].", {1}),
        ("[0] [-1] [1.5] [x] []", " [-1] [1.5] [x] []", set()),
        ("[ , ]", "[ , ]", set()),
        ("[[7]1]", "[…1]", set()),
        ("[1[7]]", "[1…]", set()),
        ("[1", "[1", set()),
        (f"[{'9' * 40}] [{'9' * 41}]", f" [{'9' * 41}]", set()),
    ],
)
def test_what_was_given_stays_and_nothing_else(text: str, left: str, cited: set[int]) -> None:
    assert said([text]) == (left, cited)


@given(texts, st.data())
def test_chunks_make_no_difference(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    chunks = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    assert said(chunks) == said([text])


@given(texts)
def test_no_number_is_left_that_was_not_given(text: str) -> None:
    left, cited = said([text])
    numbers = {int(n) for group in re.findall(r"\[([0-9,; ]{1,40})\]", left) for n in re.findall("[0-9]+", group)}
    assert numbers == cited <= {1, 2}


@given(st.text(st.characters(exclude_characters="[]")))
def test_other_text_is_left_alone(text: str) -> None:
    assert said(list(text)) == (text, set())


def test_a_long_text_takes_no_long_time() -> None:
    text = " " * 200_000 + "[" * 200_000 + "1" * 200_000
    assert said([text])[0] == text


def test_an_earlier_answer_has_no_numbers() -> None:
    assert without_citations("It is red [1], and [2][3] tall.") == "It is red, and tall."
