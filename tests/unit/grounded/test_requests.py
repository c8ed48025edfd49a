from typing import Any

import pytest

from ragcore.errors import Invalid
from ragcore.grounded.requests import AskRequest, title_in


def test_what_is_asked() -> None:
    body = {"question": "Why?", "conversationId": "c", "assistantID": "a", "instructions": "Rhyme.", "tools": 3}
    asked = AskRequest.parse(body)
    assert asked.conversation_id == "c"
    request = asked.request
    assert (request.q, request.assistant_id, request.instructions) == ("Why?", "a", "Rhyme.")
    assert (request.surface, request.tools) == ("ask", ())


def test_a_conversation_that_is_not_named_is_a_new_one() -> None:
    first, second = (AskRequest.parse({"question": "Why?", "conversationId": None}) for _ in range(2))
    assert first.conversation_id != second.conversation_id


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (None, ""),
        ([], ""),
        ("Why?", ""),
        ({}, "/question"),
        ({"question": None}, "/question"),
        ({"question": " \n"}, "/question"),
        ({"question": 3}, "/question"),
        ({"question": "Why?", "conversationId": ""}, "/conversationId"),
        ({"question": "Why?", "conversationId": 3}, "/conversationId"),
        ({"question": "Why?", "conversationId": "_design/x"}, ""),
        ({"question": "Why?", "conversationId": "a/b"}, ""),
        ({"question": "Why?", "conversationId": "x" * 257}, ""),
        ({"question": "Why?", "assistantID": []}, "/assistantID"),
        ({"question": "Why?", "instructions": "x" * 2001}, "/instructions"),
    ],
)
def test_what_is_wrong_is_named(body: Any, pointer: str) -> None:
    with pytest.raises(Invalid) as error:
        AskRequest.parse(body)
    assert error.value.pointer == pointer


def test_a_title() -> None:
    assert title_in({"title": " Boilers "}) == "Boilers"
    for body in (None, {}, {"title": " "}, {"title": 3}, {"title": "x" * 201}):
        with pytest.raises(Invalid) as error:
            title_in(body)
        assert error.value.pointer == "/title"
