from typing import Any

import pytest

from ragcore.chat.conversations import (
    assistant_id_of,
    attributes_of,
    is_answered,
    messages_of,
    new_message,
    position_of,
)
from ragcore.documents import ASSISTANTS
from ragcore.errors import NotFound


def test_a_new_message() -> None:
    made = new_message("assistant", "", reasoning="r", sources=[], truncated=False, attachmentIDs=["a"])
    assert list(made) == ["id", "role", "content", "reasoning", "attachmentIDs", "createdAt"]
    assert (made["content"], made["reasoning"], made["attachmentIDs"]) == ("", "r", ["a"])
    assert made["id"] != new_message("user", "")["id"]


@pytest.mark.parametrize("messages", [None, "x", 3, {}, [], [None, "x", 3, []]])
def test_a_conversation_without_messages(messages: Any) -> None:
    assert messages_of({"messages": messages}) == []
    assert messages_of({}) == []


def roles(*roles: str) -> dict[str, Any]:
    return {"messages": [{"id": str(n), "role": role} for n, role in enumerate(roles)]}


@pytest.mark.parametrize(
    ("doc", "question", "answered"),
    [
        (roles("user"), 0, False),
        (roles("user", "assistant"), 0, True),
        (roles("user", "user", "assistant"), 0, False),
        (roles("user", "user", "assistant"), 1, True),
        (roles("user", "assistant", "user"), 2, False),
        (roles("user", "tool", "assistant"), 0, False),
    ],
)
def test_whether_a_question_has_its_answer(doc: dict[str, Any], question: int, answered: bool) -> None:
    assert is_answered(doc, str(question)) is answered


def test_a_question_that_is_gone() -> None:
    for doc in (roles("user"), {}, {"messages": [{"role": "user"}]}):
        with pytest.raises(NotFound):
            position_of(doc, "7")
        with pytest.raises(NotFound):
            is_answered(doc, "7")


def test_the_attributes_of_a_conversation() -> None:
    related = {"assistant": {"data": {"_id": "a", "_type": ASSISTANTS}}, "other": {"data": None}}
    doc = {"_id": "c", "_rev": "1-a", "messages": [], "name": "mine", "relationships": related}
    assert attributes_of(doc) == {
        "messages": [],
        "name": "mine",
        "relationships": {"assistant": {"data": {"id": "a", "type": ASSISTANTS}}, "other": {"data": None}},
    }
    assert doc["relationships"]["assistant"]["data"] == {"_id": "a", "_type": ASSISTANTS}  # type: ignore[index]


@pytest.mark.parametrize(
    "doc", [{}, {"relationships": None}, {"relationships": {}}, {"relationships": {"assistant": None}},
            {"relationships": {"assistant": {"data": None}}}, {"relationships": {"assistant": {"data": {}}}}]
)  # fmt: skip
def test_a_conversation_without_an_assistant(doc: dict[str, Any]) -> None:
    assert assistant_id_of(doc) is None
    assert attributes_of(doc) == doc
