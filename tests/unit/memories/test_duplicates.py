import pytest

from ragcore.memories import ACTIVE, Memory
from ragcore.memories.duplicates import near_duplicate, same_text


def memory(text: str) -> Memory:
    return Memory(text, 1.0, ACTIVE, created_at="", id=text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Ada lives in Oslo.", "ada lives in oslo"),
        ("The favourite colour of Alice is blue", "Alice's favourite colour is blue."),
        ("The boiler is serviced each May", "Boilers are serviced each May"),
        ("La chaudière est révisée en mai", "la chaudiere est revisee en mai"),
        ("The flat in Lyon is let to Paul", "The flat in Lyon is let to Paul now"),
        ("?!", "?!"),
    ],
)
def test_near_duplicates(text: str, other: str) -> None:
    assert near_duplicate(text, [memory("Something else"), memory(other)]) == memory(other)
    assert near_duplicate(other, [memory(text)]) == memory(text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Ada lives in Oslo", "Ada lives in Bergen"),
        ("Ada lives in Oslo", "Paul lives in Oslo"),
        ("Ada likes coffee", "Ada does not like coffee"),
        ("The code of the gate at home is 4711", "The code of the gate at home is 4712"),
        ("The lease of the flat ends in June 2025", "The lease of the flat ends in June"),
        ("Ada", ""),
        ("?!", "..."),
    ],
)
def test_other_facts(text: str, other: str) -> None:
    assert near_duplicate(text, [memory(other)]) is None


def test_the_most_similar_counts() -> None:
    close, same = memory("Ada and Paul live in the flat in Lyon now"), memory("Ada and Paul live in the flat in Lyon")
    assert near_duplicate(same.text, [close, same]) == same
    assert near_duplicate("x", []) is None


def test_the_same_text() -> None:
    known = [memory("Ada does like coffee"), memory("Ada  préfère le café")]
    assert same_text("ada prefere le cafe", known) == known[1]
    assert same_text("Ada does not like coffee", known) is None
