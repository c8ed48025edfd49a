import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.grounded.assemble import MOST, assemble, merged
from ragcore.grounded.cutting import LONGEST
from ragcore.openrag import Passage

passages = st.lists(st.builds(Passage, st.sampled_from("abc"), st.sampled_from(["one", "two", "three", "x " * 800])))


@pytest.mark.parametrize(
    ("found", "best"),
    [
        ("a1 a2 a3 a4 b1", "a1 a2 a3 b1"),
        ("a1 a2 a3 b1 b2", "a1 a2 a3 b1"),
        ("a1 a1 a2 a1", "a1 a2"),
        ("a1 b1", "a1 b1"),
        ("a1 a2 a3 a4 a5", "a1 a2 a3 a4"),
        ("", ""),
    ],
)
def test_which_are_taken(found: str, best: str) -> None:
    taken = assemble([Passage(name[0], name) for name in found.split()], "")
    assert [passage.content for passage in taken] == best.split()


@given(passages)
def test_the_best_of_two_files_at_least(found: list[Passage]) -> None:
    taken = assemble(found, "one")
    distinct = {(passage.file_id, passage.content[:LONGEST].strip()) for passage in found}
    assert len(taken) == min(MOST, len(distinct))
    assert len({passage.file_id for passage in taken}) >= min(2, len({passage.file_id for passage in found}))
    assert all(len(passage.content) <= LONGEST for passage in taken)
    if found:
        assert taken[0].file_id == found[0].file_id


def test_searches_side_by_side_are_merged_by_the_words_of_the_question() -> None:
    one = [Passage("a", "The garden"), Passage("a", "A boiler and its reset")]
    two = [Passage("b", "The boiler"), Passage("b", "Nothing")]
    contents = [passage.content for passage in merged([one, two, []], "reset boiler")]
    assert contents == ["A boiler and its reset", "The boiler", "The garden", "Nothing"]
