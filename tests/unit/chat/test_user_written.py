import random
import sys
import time
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat.user_written import Written, folded

ADDRESS = "paul@example.com"
ZERO_WIDTH = "\u200b"


def find(value: str, *texts: str) -> str | None:
    return Written(texts).find(value)


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        # as the user typed it, as whole words, whatever the case
        ("paul", "Write to Paul", "Paul"),
        ("PAUL", "paul", "paul"),
        ("Paul", "Write to Pauline", None),
        ("Paul", "Write to Jean-Paul", None),
        ("Jean-Paul", "Write to jean-paul!", "jean-paul"),
        ("Paul", "", None),
        ("ÉLISE", "À Élise", "Élise"),
        ("ΣΊΣΥΦΟΣ", "ο Σίσυφος", "Σίσυφος"),
        ("STRASSE", "die Straße", None),
        ("STRAẞE", "die Straße", "Straße"),
        ("ﬁn", "fin", None),
        # look-alikes are other characters
        ("i", "İ", None),
        ("İ", "i", None),
        ("istanbul", "İstanbul", None),
        ("İstanbul", "İSTANBUL", "İSTANBUL"),
        ("ı", "I", None),
        ("pаul", "paul", None),  # the value's а is Cyrillic
        ("paul", "pаul", None),  # the user's is
        ("ａnn", "ann", None),
        ("ann", "ａnn", None),
        ("Ａnn", "ａnn", "ａnn"),
        (f"paul{ZERO_WIDTH}", "paul", None),
        (f"pa{ZERO_WIDTH}ul", "paul", None),
        ("paul", f"pa{ZERO_WIDTH}ul", None),
        ("paul", "pa\xadul", None),
        ("cafe", "cafe\u0301", None),  # an accent is a part of its letter
        ("हिन", "हिन्दी", None),
        # white space between words is any white space
        ("Paul Martin", "to paul\tmartin", "paul martin"),
        ("Paul Martin", "to paul \r\n\u3000 martin", "paul martin"),
        ("Paul\xa0\n Martin", "to Paul\u2003Martin", "Paul Martin"),
        ("  Paul ", "Paul", "Paul"),
        ("Paul Martin", f"Paul{ZERO_WIDTH}Martin", None),
        ("Paul Martin", "PaulMartin", None),
        # addresses
        ("claire@example.com", "marie-claire@example.com", None),
        ("paul@example.co", "paul@example.com", None),
        (ADDRESS, "Is it paul@example.com?", ADDRESS),
        (ADDRESS, "<paul@example.com>", ADDRESS),
        (ADDRESS, "paul@example.com.", ADDRESS),
        (ADDRESS, "paul@example.com...", ADDRESS),
        (ADDRESS, "«paul@example.com»", ADDRESS),
        (ADDRESS, "mailto:Paul@Example.COM,", "Paul@Example.COM"),
        (ADDRESS, "jean.paul@example.com", None),
        (ADDRESS, "jean..paul@example.com", None),
        (ADDRESS, "paul@example.com.evil.org", None),
        (ADDRESS, "paul@example.com..evil", None),
        (ADDRESS, "it is.paul@example.com", None),
        (ADDRESS, "...paul@example.com", ADDRESS),
        (ADDRESS, "it is: .paul@example.com", ADDRESS),
        (ADDRESS, "paul@example.com. Or not", ADDRESS),
        (ADDRESS, "paul@example.com.-x", None),
        (ADDRESS, f"pаul@example.com {ADDRESS}", ADDRESS),
        (ADDRESS, f"jean-{ADDRESS} or {ADDRESS.upper()}", ADDRESS.upper()),
        ("@example.com", "paul@example.com", None),
        ("paul@", "paul@example.com", None),
        # other values
        ("équipe", "l'équipe", "équipe"),
        ("équipe", "l’équipe", "équipe"),
        ("l'équipe", "à L'équipe !", "L'équipe"),
        ("example", "example.com", None),
        ("com", "example.com", None),
        ("example", "www..example", None),
        ("example", "example. com", "example"),
        ("example", "...example...", "example"),
        ("example.com", "see example.com.", "example.com"),
        ("example", "paul@example", None),
        ("example", "a=example&b", "example"),
        ("example", "#example!", "example"),
        ("paul", "<paul>", "paul"),
        ("(see", "paul(see", None),
        ("(see", "paul (see", "(see"),
        ("12", "3.12", None),
        ("12", "12", "12"),
        ("12", "12€", "12"),
        ("12", "12²", None),
        ("C++", "I write C++.", "C++"),
        ("C", "I write C++.", None),
        # a final dot
        ("Paul.", "Paul", "Paul"),
        ("Paul .", "Paul", "Paul"),
        ("paul@example.com.", "to Paul@example.com", "Paul@example.com"),
        # no letter and no digit
        ("", "Paul", None),
        ("   ", "Paul ,  x", None),
        (".", "Paul.", None),
        ("@", "@", None),
        ("-_+", "-_+", None),
        ("\u0301", "\u0301", None),
        ("\n\t", "\n\t", None),
    ],
)
def test_a_value_and_a_text(value: str, text: str, found: str | None) -> None:
    assert find(value, text) == found


@pytest.mark.parametrize("char", "ad7é!#$%&'*+-/=?^_`{|}~@")
def test_what_continues_an_address_to_its_left(char: str) -> None:
    assert find(ADDRESS, f"{char}{ADDRESS}") is None
    assert find(ADDRESS, f"{char}..{ADDRESS}") is None


@pytest.mark.parametrize("char", '<>()[]:;,"\\« \n\u2060')
def test_what_does_not_continue_an_address_to_its_left(char: str) -> None:
    assert find(ADDRESS, f"a{char}{ADDRESS}") == ADDRESS
    assert find(ADDRESS, f"a{char}.{ADDRESS}") == ADDRESS


@pytest.mark.parametrize("char", "ad7é-_@")
def test_what_continues_an_address_to_its_right(char: str) -> None:
    assert find(ADDRESS, f"{ADDRESS}{char}") is None
    assert find(ADDRESS, f"{ADDRESS}..{char}") is None


@pytest.mark.parametrize("char", "!#$%&'*+/=?^`{|}~<>()[]:;,\"\\» \n")
def test_what_does_not_continue_an_address_to_its_right(char: str) -> None:
    assert find(ADDRESS, f"{ADDRESS}{char}a") == ADDRESS
    assert find(ADDRESS, f"{ADDRESS}.{char}a") == ADDRESS


@pytest.mark.parametrize("char", "ad7é@-_+")
def test_what_continues_a_word_on_both_sides(char: str) -> None:
    assert [find("Paul", text.format(char)) for text in ("{}Paul", "{}..Paul", "Paul{}", "Paul..{}")] == [None] * 4


@pytest.mark.parametrize("char", "!#$%&'*/=?^`{|}~<>()[]:;,\"\\« \n’")
def test_what_does_not_continue_a_word(char: str) -> None:
    texts = ("a{}Paul", "a{}.Paul", "Paul{}a", "Paul.{}a")
    assert [find("Paul", text.format(char)) for text in texts] == ["Paul"] * 4


def test_a_value_is_in_one_of_the_texts_never_in_two_of_them() -> None:
    assert find("Paul Martin", "To Paul", "Martin") is None
    assert find("Martin", "To Paul.", ".Martin") == "Martin"
    assert find("Martin") is None


def test_of_several_spellings_the_one_equal_to_the_value_counts() -> None:
    assert find("Paul", "PAUL", "paul and Paul") == "Paul"
    assert find(" Paul  Martin. ", "paul martin", "Paul\tMartin") == "Paul Martin"


def test_of_several_other_spellings_the_first_counts() -> None:
    assert find("Paul", "I know PAULA and pAUL", "PAUL") == "pAUL"


def test_a_spelling_inside_another_word_does_not_count() -> None:
    assert find("Paul", "Paula and PAUL") == "PAUL"


# Unicode's simple folding


@cache
def foldings() -> dict[str, str]:
    """Every character is folded to one; those here change by it, or by Python's folding."""
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    pairs = zip(characters, folded(characters), strict=True)
    return {char: to for char, to in pairs if not char == to == char.casefold()}


def test_a_folding_of_one_character_to_one_is_python_s() -> None:
    assert [char for char, to in foldings().items() if len(char.casefold()) == 1 and to != char.casefold()] == []


def test_what_is_folded_is_not_folded_further() -> None:
    assert [to for to in foldings().values() if folded(to) != to] == []


def test_characters_that_fold_to_several_have_the_simple_folding_of_unicode() -> None:
    several = {char: to for char, to in foldings().items() if len(char.casefold()) > 1}
    greek = [*range(0x1F88, 0x1F90), *range(0x1F98, 0x1FA0), *range(0x1FA8, 0x1FB0)]
    with_iota = {chr(c): chr(c - 8) for c in greek} | {"ᾼ": "ᾳ", "ῌ": "ῃ", "ῼ": "ῳ"}
    others = {"ẞ": "ß", "\u1fd3": "\u0390", "\u1fe3": "\u03b0", "ﬅ": "ﬆ"}  # the last three since Unicode 15.1
    assert {c: to for c, to in several.items() if c != to} == with_iota | others
    assert folded("İ") == "İ"


@pytest.mark.parametrize(("char", "to"), [("K", "k"), ("ſ", "s"), ("Å", "å"), ("ς", "σ"), ("ꭰ", "Ꭰ"), ("𐐀", "𐐨")])
def test_some_foldings(char: str, to: str) -> None:
    assert folded(char) == to


def test_folding_leaves_letters_letters() -> None:
    """The marks of a text without its case are those of the text."""

    def in_word(char: str) -> bool:
        return char.isalnum() or unicodedata.category(char).startswith("M")

    assert [c for c, to in foldings().items() if in_word(c) != in_word(to) or c.isspace() or to.isspace()] == []


# properties


def is_whole(text: str, start: int, end: int, before: str, after: str) -> bool:
    """The rule, as the words of the issue say it."""
    left, right = text[:start].rstrip(".")[-1:], text[end:].lstrip(".")[:1]

    def continues(char: str, others: str) -> bool:
        return bool(char) and (char.isalnum() or unicodedata.category(char)[0] == "M" or char in others)

    return not continues(left, before) and not continues(right, after)


def slowly_found(value: str, text: str) -> list[str]:
    """All that the rule allows, in the order of the text."""
    text, value = " ".join(text.split()), " ".join(value.split())
    value = value.removesuffix(".").strip()
    if not any(char.isalnum() for char in value):
        return []
    others = ("!#$%&'*+-/=?^_`{|}~@", "-_@") if "@" in value else ("@-_+", "@-_+")
    places = ((start, start + len(value)) for start in range(len(text)))
    return [
        text[start:end]
        for start, end in places
        if folded(text[start:end]) == folded(value) and is_whole(text, start, end, *others)
    ]


narrow = st.text("aAb.@-! \n'", max_size=12)
wide = st.text(st.sampled_from("aAbBéÉсСiİıßẞ1²._@-+!'«\u200b\u0301 \t\n\r\x1f\u2028😀\ud800"), max_size=20)


@given(st.one_of(narrow, wide), st.data())
def test_what_is_found_is_what_the_rule_says(text: str, data: st.DataObject) -> None:
    inside = st.tuples(*[st.integers(0, len(text))] * 2).map(lambda ends: text[min(ends) : max(ends)])
    value = data.draw(st.one_of(inside, inside.map(str.swapcase), narrow))
    allowed = slowly_found(value, text)
    spelled = " ".join(value.split()).removesuffix(".").strip()
    assert find(value, text) == (spelled if spelled in allowed else next(iter(allowed), None))


@given(st.lists(st.one_of(narrow, wide, st.text()), max_size=4), st.one_of(narrow, wide, st.text()))
def test_a_value_that_comes_out_is_always_in_a_text(texts: list[str], value: str) -> None:
    found = find(value, *texts)
    assert found is None or any(found in " ".join(text.split()) for text in texts)


words = st.text("abcé", min_size=1, max_size=5)


@given(st.lists(words), st.lists(words), st.sampled_from([" ", ", ", "\n", "; ", " «", "@"]))
def test_nothing_that_is_only_in_a_document_comes_out(typed: list[str], document: list[str], between: str) -> None:
    written = Written([between.join(typed)])
    only = [word for word in document if folded(word) not in map(folded, typed)]
    assert [word for word in only if written.find(word)] == []


@given(st.lists(st.text("abcAB@.-'é", min_size=1).filter(lambda word: any(map(str.isalnum, word))), min_size=1))
def test_a_word_that_was_typed_comes_out(typed: list[str]) -> None:
    written = Written([" ".join(typed)])
    assert [written.find(word) for word in typed] == [word.removesuffix(".") for word in typed]


@given(st.text("aAeéÅÅKﬁ²ａ한각\u0301\u030a", min_size=1, max_size=6), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_another_form_of_what_was_typed_is_not_what_was_typed(typed: str, form: Literal["NFC", "NFD"]) -> None:
    other = unicodedata.normalize(form, typed)
    assert folded(other) == folded(typed) or find(other, typed) is find(typed, other) is None


# time


def run(text: str, values: list[str]) -> float:
    """Seconds of the processor, the less of two."""

    def once() -> float:
        start = time.thread_time()
        written = Written([text])
        for value in values:
            written.find(value)
        return time.thread_time() - start

    return min(once(), once())


SHAPES: list[Callable[[int], str]] = [
    lambda size: "a" * size,
    lambda size: "." * size,
    lambda size: "x" + "." * size + "y",
    lambda size: "a." * (size // 2),
    lambda size: "a. " * (size // 3),
    lambda size: "x" + "a.a@" * (size // 4) + "x",
    lambda size: "aab" * (size // 3),
    lambda size: "a " * (size // 2),
    lambda size: " " * size,
    lambda size: "".join(random.Random(0).choices("aéb.@ ", k=size)),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_length_of_the_text(shape: Callable[[int], str]) -> None:
    """Eight times the text takes about eight times as long; were it squared, sixty-four."""
    values = ["a", "a.a", "aa", "a" * 50, "a@a", "a." * 20 + "a", "a.a@" * 20, "..a", "aab" * 30 + "c", "a a"]
    assert run(shape(160_000), values) < 24 * max(run(shape(20_000), values), 0.002)


def test_a_hundred_values_in_a_megabyte_take_less_than_a_second() -> None:
    text = "Write to Marie-Claire, to paul@example.com. É. and to l'équipe!\n" * (1 << 14)
    repeated = [words * n for words in ("a", "a.a@", "aab", "a ") for n in range(1, 21)]
    assert run(text, [*repeated, *(f"paul{n}@example.com" for n in range(20))]) < 1


def test_time_grows_with_the_length_of_the_value() -> None:
    text = "a." * 80_000
    long, short = [text + "b"], [text[:20_000] + "b"]
    assert run(text, long) < 24 * max(run(text, short), 0.002)
