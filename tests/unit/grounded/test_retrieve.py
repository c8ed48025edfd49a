from typing import Any

import pytest

from ragcore.grounded.retrieve import MOST_FILES, cited_files, cited_sources


def answer(*sources: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "A", "sources": list(sources)}


@pytest.mark.parametrize(
    ("messages", "files"),
    [
        ([answer({"id": "a", "cited": True}, {"id": "b", "cited": False})], ["a"]),
        ([answer({"id": "a"})], ["a"]),  # of the chat
        ([answer({"id": "a", "sourceType": "document"}, {"id": "m", "sourceType": "memory", "cited": True})], ["a"]),
        ([answer({"id": "a"}), answer({"id": "b"}, {"id": "a"})], ["b", "a"]),
        ([answer({"id": 3}, {"id": ""}, {"id": "x" * 10_000}, {"url": "http://u"}, "x")], []),
        ([{"role": "assistant"}, {"role": "assistant", "sources": 3}, {"role": "user", "sources": [{"id": "a"}]}], []),
        ([answer(*({"id": str(n)} for n in range(20)))], [str(n) for n in range(MOST_FILES)]),
    ],
)
def test_the_files_that_a_conversation_has_cited(messages: list[dict[str, Any]], files: list[str]) -> None:
    assert cited_files(messages) == files


def test_the_last_answers_come_first() -> None:
    messages = [answer({"id": str(n)}) for n in range(20)]
    assert cited_files(messages) == [str(n) for n in range(19, 11, -1)]
    assert cited_sources(messages[0]) == [{"id": "0"}]
