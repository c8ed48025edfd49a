from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat.assistants import Scope
from ragcore.chat.messages import _history, completion
from ragcore.errors import NotFound
from ragcore.jobs import AnswerJob

USER, ASSISTANT = "user", "assistant"


def message(role: Any, content: Any = "text", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def job(question_id: str = "q", **fields: Any) -> AnswerJob:
    return AnswerJob("alice.localhost", "p", "c", question_id, **fields)


def conversation(*roles: str) -> dict[str, Any]:
    """Messages whose ids are their positions, and whose contents are `m` and their positions."""
    return {"messages": [message(role, f"m{n}", id=str(n)) for n, role in enumerate(roles)]}


def contents(body: dict[str, Any]) -> list[str]:
    return [sent["content"] for sent in body["messages"]]


@pytest.mark.parametrize(
    ("roles", "asked", "sent"),
    [
        ("u", 0, [0]),
        ("uau", 2, [0, 1, 2]),
        ("uauau", 4, [0, 1, 2, 3, 4]),
        ("uu", 1, [1]),
        ("uuu", 2, [2]),
        ("uauu", 3, [0, 1, 3]),
        ("uuau", 3, [1, 2, 3]),
        ("uu", 0, [0]),
        ("uauua", 2, [0, 1, 2]),
        ("au", 1, [0, 1]),
        ("suau", 3, [1, 2, 3]),
    ],
)
def test_which_messages_are_sent(roles: str, asked: int, sent: list[int]) -> None:
    doc = conversation(*({"u": USER, "a": ASSISTANT, "s": "system"}[role] for role in roles))
    assert contents(completion(doc, job(str(asked)), Scope())) == [f"m{n}" for n in sent]


messages = st.lists(
    st.builds(
        message,
        st.sampled_from([USER, USER, ASSISTANT, ASSISTANT, "system", "tool", None, 3]),
        st.text(max_size=3) | st.none(),
    ),
    max_size=8,
)


@given(messages)
def test_what_the_llm_is_sent_ends_with_the_question(before: list[dict[str, Any]]) -> None:
    sent = _history([*before, message(USER, "asked")])
    assert sent[-1] == {"role": USER, "content": "asked"}
    assert {m["role"] for m in sent} <= {USER, ASSISTANT}
    assert all(set(m) == {"role", "content"} and isinstance(m["content"], str) for m in sent)


@given(messages)
def test_every_question_that_is_sent_is_answered_but_the_last(before: list[dict[str, Any]]) -> None:
    roles = [m["role"] for m in _history([*before, message(USER)])]
    assert all(after == ASSISTANT for role, after in zip(roles, roles[1:], strict=False) if role == USER)


@given(messages)
def test_all_answers_are_sent_in_order(before: list[dict[str, Any]]) -> None:
    sent = _history([*before, message(USER)])
    answers = [m.get("content") or "" for m in before if m["role"] == ASSISTANT]
    assert [m["content"] for m in sent if m["role"] == ASSISTANT] == answers


@given(st.lists(st.tuples(st.text(min_size=1, max_size=3), st.text(min_size=1, max_size=3)), max_size=4))
def test_a_conversation_without_gaps_is_sent_whole(turns: list[tuple[str, str]]) -> None:
    before = [m for q, a in turns for m in (message(USER, q), message(ASSISTANT, a))]
    assert _history([*before, message(USER, "asked")]) == [*before, message(USER, "asked")]


def test_what_is_saved_apart_is_not_sent() -> None:
    doc = {"messages": [message(USER, "a", id="1"), message(ASSISTANT, "b", reasoning="hm", sources=[{}]),
                        message(USER, "c", id="q", attachmentIDs=["f"])]}  # fmt: skip
    assert completion(doc, job(), Scope())["messages"] == [
        message(USER, "a"),
        message(ASSISTANT, "b"),
        message(USER, "c"),
    ]


def test_a_question_that_is_gone() -> None:
    with pytest.raises(NotFound):
        completion(conversation(USER), job("other"), Scope())


def test_messages_that_are_none_are_passed_over() -> None:
    doc = {"messages": ["x", None, 3, message(USER, "asked", id="q")]}
    assert contents(completion(doc, job(), Scope())) == ["asked"]


@pytest.mark.parametrize(
    ("prompt", "instructions", "system"),
    [
        ("", "", []),
        ("p", "", ["p"]),
        ("", "i", ["i"]),
        ("p", "i", ["p", "i"]),
        (" \n", "\t", []),
        (" p ", "i", [" p ", "i"]),
    ],
)
def test_the_prompt_comes_before_the_instructions(prompt: str, instructions: str, system: list[str]) -> None:
    doc = {"messages": [message("system", "from a client"), message(USER, "asked", id="q")]}
    sent = completion(doc, job(instructions=instructions), Scope(prompt))["messages"]
    assert [m["content"] for m in sent if m["role"] == "system"] == system
    assert [m["role"] for m in sent] == ["system"] * len(system) + [USER]


@pytest.mark.parametrize(
    ("fields", "scope", "expected"),
    [
        ({}, Scope(), {"model": "openrag-alice.localhost", "stream": True, "metadata": {"websearch": False}}),
        ({"documents": False}, Scope(), {"stream": True, "metadata": {"websearch": False}}),
        ({"stream": False, "websearch": True, "documents": False}, Scope(),
         {"stream": False, "metadata": {"websearch": True}}),
        ({}, Scope(workspace="w"), {"model": "openrag-alice.localhost", "stream": True,
                                    "metadata": {"websearch": False, "workspace": "w"}}),
    ],
)  # fmt: skip
def test_the_body_beside_the_messages(fields: dict[str, Any], scope: Scope, expected: dict[str, Any]) -> None:
    body = completion(conversation(USER), job("0", **fields), scope)
    del body["messages"]
    assert body == expected


def test_the_attachments_are_those_of_the_question() -> None:
    doc = {"messages": [message(USER, "a", id="1", attachmentIDs=["old"]), message(ASSISTANT, "b"),
                        message(USER, "c", id="2", attachmentIDs=["x", "y"])]}  # fmt: skip
    assert completion(doc, job("2"), Scope())["metadata"]["attachments"] == [{"id": "x"}, {"id": "y"}]
    assert completion(doc, job("1"), Scope())["metadata"]["attachments"] == [{"id": "old"}]
