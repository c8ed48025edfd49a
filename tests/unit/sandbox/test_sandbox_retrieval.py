import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.sandbox.quoting import NOTHING, answer_text, quote
from deploy.sandbox.retrieval import Passage, match_query, similarity, stem, words_of


def passage(content: str) -> Passage:
    return Passage(1, "p", "f", "lease.pdf", 2, content, {}, 1.0, 1.0)


def test_words_lose_stop_words_and_doubles() -> None:
    assert words_of("What is THE rent of the flat? Rent!") == ["rent", "flat"]
    assert words_of("Quelle est l'échéance où j'étais ?") == ["échéance", "étais"]
    assert words_of("the of and") == []
    assert words_of("room 3 b") == ["room", "3"]


@given(st.text())
def test_a_query_is_valid_whatever_was_typed(text: str) -> None:
    words = words_of(text)
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    if words:
        database.execute("SELECT * FROM t WHERE t MATCH ?", (match_query(words),)).fetchall()


@pytest.mark.parametrize(
    ("one", "other"), [("recipe", "recipes"), ("facture", "factures"), ("planted", "plants"), ("Été", "etes")]
)
def test_a_stem_is_shared(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_similarity_is_the_share_of_the_words() -> None:
    assert similarity(["rent", "garden"], "The rents are low") == 0.5
    assert similarity([], "anything") == 0.0


def test_a_quote_is_the_sentence_that_fits_and_what_follows() -> None:
    text = "# The lease\n\nIt began in May. The rent is 850 euros. Cats are fine."
    assert quote("How much is the rent?", passage(text)) == "The rent is 850 euros. Cats are fine."
    assert quote("?", passage("***")) == "***"


def test_an_answer_numbers_its_quotes_and_names_the_page() -> None:
    answer = answer_text("rent", [passage("The rent is 850 euros."), passage("No rent.")])
    assert "“The rent is 850 euros.” [1] (lease.pdf, page 2)" in answer
    assert "[2]" in answer
    assert answer_text("rent", []) == NOTHING
