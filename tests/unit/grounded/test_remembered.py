from ragcore.grounded.remembered import Remembered, with_memories
from ragcore.grounded.sources import sources_of
from ragcore.memories import ACTIVE, Memory
from ragcore.openrag import Passage


def passage(file_id: str, content: str) -> Passage:
    return Passage(file_id, content, {"filename": f"{file_id}.txt"})


def memory(memory_id: str, text: str) -> Memory:
    return Memory(text, 0.9, ACTIVE, updated_at="2026-01-01", id=memory_id)


FOUND = [
    passage("a", "The boiler is reset with the red button."),
    passage("a", "The boiler is in the cellar, behind the door."),
    passage("a", "The boiler is old."),
    passage("a", "The house has a boiler and a stove."),
    passage("b", "Reset it never."),
]
BUTTON = memory("m", "To reset the boiler one has to hold the red button.")


def ids(found: list[Passage]) -> list[str]:
    return [one.file_id for one in found]


def test_without_memories_passages_stay_as_they_are() -> None:
    assert ids(with_memories(FOUND, [], "reset the boiler")) == ["a", "a", "a", "b"]


def test_a_memory_stands_where_it_fits() -> None:
    found = with_memories(FOUND, [BUTTON, memory("n", "Likes tea.")], "reset the boiler")
    assert len(found) == 4
    assert ids(found).count("m") == 1
    assert "n" not in ids(found)
    assert isinstance(found[ids(found).index("m")], Remembered)


def test_two_files_are_left_beside_two_memories_at_most() -> None:
    many = [memory(f"m{n}", f"Reset the boiler with the red button, number {n}.") for n in range(10)]
    found = with_memories(FOUND, many, "reset the boiler red button")
    assert len([one for one in found if isinstance(one, Remembered)]) == 2
    assert {one.file_id for one in found if not isinstance(one, Remembered)} == {"a", "b"}


def test_where_documents_have_nothing_memories_do() -> None:
    many = [memory(f"m{n}", f"Fact {n} of the boiler.") for n in range(10)]
    assert len(with_memories([], many, "boiler")) == 4
    assert with_memories([], many, "tomatoes") == []


def test_a_long_memory_is_cut_as_a_passage_is() -> None:
    long = memory("m", "Likes tea. " * 100 + "The boiler is green. " + "Likes tea. " * 50)
    (found,) = with_memories([], [long], "boiler")
    assert len(found.content) <= 700
    assert "The boiler is green." in found.content


def test_a_memory_is_a_source_of_its_kind() -> None:
    class Nothing:
        def get_many(self, *args: object) -> dict[str, object]:
            return {}

    one = Remembered("m", "Likes tea.", date="2026-01-01")
    assert sources_of(Nothing(), None, [one], {1}) == [  # type: ignore[arg-type]
        {
            "number": 1, "sourceType": "memory", "doctype": "io.cozy.ai.memories", "id": "m", "datetime": "2026-01-01",
            "passage": "Likes tea.", "cited": True,
        }
    ]  # fmt: skip
