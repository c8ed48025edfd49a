from hypothesis import given
from hypothesis import strategies as st

from deploy.sandbox.chunks import Page, cut


def test_a_short_text_is_one_chunk_without_its_margins() -> None:
    assert [(chunk.page, chunk.content) for chunk in cut([Page(1, "  one\n two ")])] == [(1, "one\n two")]


def test_no_words_no_chunk() -> None:
    assert list(cut([Page(1, " \n"), Page(2, "")])) == []


def test_a_chunk_shares_words_with_the_next_and_crosses_no_page() -> None:
    pages = [Page(1, "a b c d e"), Page(2, "f g")]
    chunks = [(chunk.page, chunk.content) for chunk in cut(pages, words=3, overlap=1)]
    assert chunks == [(1, "a b c"), (1, "c d e"), (2, "f g")]


def test_a_run_without_spaces_is_cut_too() -> None:
    chunks = list(cut([Page(1, "x" * 100_000)], words=10, overlap=2))
    assert max(len(chunk.content) for chunk in chunks) == 1000


@given(st.lists(st.text("abc", min_size=1, max_size=5), max_size=60), st.integers(2, 9))
def test_every_word_is_in_some_chunk(words: list[str], size: int) -> None:
    chunks = [chunk.content.split() for chunk in cut([Page(1, " ".join(words))], words=size, overlap=1)]
    joined = [word for number, chunk in enumerate(chunks) for word in chunk[1 if number else 0 :]]
    assert joined == words
