import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.grounded.cutting import LONGEST, cut, share, stems_of

FILLER = "The garden of the house is large, and nobody knows how large it is. "
WORDS = st.lists(
    st.sampled_from(["garden", "boiler", "the", "a.", "Why?", "x" * 30, "été", "。", "\n", "\n\n", "!", "…", "1"]),
    max_size=200,
).map(" ".join)


def test_a_short_text_is_left_as_it_is() -> None:
    assert cut("  The boiler.\n", {"boile"}) == "The boiler."


def test_what_is_looked_for_is_in_the_middle() -> None:
    text = FILLER * 30 + "Press the red button to reset the boiler. " + FILLER * 30
    piece = cut(text, stems_of("How do I reset the boiler?"))
    assert "Press the red button to reset the boiler." in piece
    assert piece.startswith("Press the red")
    assert piece.endswith("it is.")
    assert LONGEST - len(FILLER) <= len(piece) <= LONGEST


def test_at_the_end_of_a_text_what_is_before_is_taken() -> None:
    piece = cut(FILLER * 30 + "Reset the boiler.", stems_of("reset boiler"))
    assert piece.startswith("The garden")
    assert piece.endswith("Reset the boiler.")


def test_small_words_say_little() -> None:
    text = "How is the house, and how is the garden, and how do they do? " * 12 + "Boilers hum. " + FILLER * 10
    assert "Boilers hum." in cut(text, stems_of("How do I know how the boiler is?"))


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    text = "word " * 400 + "boiler " + "other " * 400
    piece = cut(text, {"boile"})
    assert "boiler" in piece.split()
    assert set(piece.split()) <= {"word", "boiler", "other"}
    assert len(piece) <= LONGEST


def test_without_any_word_the_beginning_is_taken() -> None:
    assert cut("One. " + FILLER * 30, {"nothi"}).startswith("One. The garden")


def test_a_word_without_an_end_is_cut() -> None:
    assert cut("x" * 2000, set()) == "x" * LONGEST


@given(WORDS, st.sets(st.sampled_from(["boile", "garde", "ete", "the"])), st.integers(40, 200))
def test_a_piece_is_of_the_text_and_ends_with_words(text: str, stems: set[str], longest: int) -> None:
    piece = cut(text, stems, longest)
    assert len(piece) <= longest
    assert piece in text
    assert piece or not text.strip()
    assert piece == piece.strip()
    if "。" not in text:
        assert set(piece.split()) <= set(text.split())


@given(WORDS, st.integers(40, 200))
def test_a_word_that_is_there_is_in_the_piece(text: str, longest: int) -> None:
    if "boiler" in text.split():
        assert "boiler" in cut(text, {"boile"}, longest).split()


@pytest.mark.parametrize(
    ("question", "text", "part"),
    [("boilers", "The boiler", 1.0), ("Été à Paris", "ete", 1 / 3), ("", "x", 0.0), ("x y", "z", 0.0)],
)
def test_how_much_of_a_question_is_in_a_text(question: str, text: str, part: float) -> None:
    assert share(stems_of(question), text) == part
