from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat import messages as sut
from ragcore.chat.assistants import Scope
from ragcore.chat.messages import ORPHAN, _history, may_have_tools, written
from ragcore.chat.providers import Provider
from ragcore.chat.tools import parse_tools, rules
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


def completion(doc: dict[str, Any], job: AnswerJob, scope: Scope, *more: Any) -> dict[str, Any]:
    return sut.completion(sut.asked(doc, job.question_id), job, scope, *more)


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
        ("ssuau", 4, [2, 3, 4]),
        ("suu", 2, [2]),
        ("usu", 2, [2]),
        ("uasu", 3, [0, 1, 2, 3]),
    ],
)
def test_which_messages_are_sent(roles: str, asked: int, sent: list[int]) -> None:
    doc = conversation(*({"u": USER, "a": ASSISTANT, "s": "system"}[role] for role in roles))
    assert contents(completion(doc, job(str(asked)), Scope())) == [f"m{n}" for n in sent]


def proposal(message_id: str, text: str = "", call_id: str = "call-1", **params: Any) -> dict[str, Any]:
    return message(ASSISTANT, text, id=message_id, action={"name": "note", "params": params, "toolCallId": call_id})


def result(message_id: str, of: str, content: str = "done it", ok: bool = True) -> dict[str, Any]:
    return message("tool", content, id=message_id, result={"messageID": of, "ok": ok})


messages = st.lists(
    st.one_of(
        st.builds(
            message,
            st.sampled_from([USER, USER, ASSISTANT, ASSISTANT, "system", "tool", None, 3]),
            st.text(max_size=3) | st.none(),
        ),
        st.builds(proposal, st.sampled_from("ab"), st.text(max_size=3), st.sampled_from(["", "x"])),
        st.builds(result, st.sampled_from("cd"), st.sampled_from("abz"), st.text(max_size=3), st.booleans()),
    ),
    max_size=8,
)


@given(messages)
def test_what_the_llm_is_sent_ends_with_the_question(before: list[dict[str, Any]]) -> None:
    sent = _history([*before, message(USER, "asked")])
    assert sent[-1] == {"role": USER, "content": "asked"}
    assert sent[0]["role"] != "system"
    assert all(isinstance(m["content"], str) for m in sent)
    assert {m["role"] for m in sent} <= {USER, ASSISTANT, "tool", "system"}


@given(messages)
def test_each_tool_message_answers_one_call_before_it(before: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    for sent in _history([*before, message(USER)]):
        open_calls += [call["id"] for call in sent.get("tool_calls", [])]
        if sent["role"] == "tool":
            open_calls.remove(sent["tool_call_id"])
    assert open_calls == []


@given(messages)
def test_no_result_is_left_out(before: list[dict[str, Any]]) -> None:
    sent = _history([*before, message(USER)])
    given_back = [m for m in sent if m["role"] == "tool" or m["content"].startswith(ORPHAN)]
    assert len(given_back) == len([m for m in before if m["role"] == "tool"])


@given(messages)
def test_all_answers_are_sent_in_order(before: list[dict[str, Any]]) -> None:
    sent = _history([*before, message(USER)])
    answers = [m.get("content") or "" for m in before if m["role"] == ASSISTANT]
    given_back = [m["content"] for m in sent if m["role"] == ASSISTANT]
    assert all(back.endswith(answer) for back, answer in zip(given_back, answers, strict=True))


def test_an_action_without_a_result_is_told_before_its_text() -> None:
    bare, with_text = _history([proposal("a", title="É"), proposal("b", "Here.", title="x"), message(USER)])[:2]
    assert bare == message(ASSISTANT, '(Proposed to the user: note {"title": "É"})')
    assert with_text == message(ASSISTANT, '(Proposed to the user: note {"title": "x"})\n\nHere.')


def test_a_result_answers_the_call_of_its_action_whatever_stands_between() -> None:
    between = [message(USER, "and?"), message(ASSISTANT, "so")]
    sent = _history([proposal("a", "I do.", title="x"), *between, result("r", "a")])
    call = {"id": "call-1", "type": "function", "function": {"name": "note", "arguments": '{"title": "x"}'}}
    assert sent == [
        message(ASSISTANT, "I do.", tool_calls=[call]),
        *between,
        {"role": "tool", "tool_call_id": "call-1", "content": "done it"},
    ]


def test_an_action_from_before_the_ids_were_kept() -> None:
    sent = _history([proposal("a", call_id=""), result("r", "a")])
    assert sent[0]["tool_calls"][0]["id"] == sent[1]["tool_call_id"] == "call_a"


@pytest.mark.parametrize(
    ("ok", "content", "outcome"),
    [
        (True, "3 emails", "3 emails"),
        (True, "", "Done."),
        (False, "no network", "Error: no network"),
        (False, "", "Error: the app could not run the action."),
    ],
)
def test_what_a_result_says(ok: bool, content: str, outcome: str) -> None:
    assert _history([proposal("a"), result("r", "a", content, ok)])[-1]["content"] == outcome
    orphan = _history([result("r", "a", content, ok)])[-1]
    assert orphan == message(USER, f"{ORPHAN}\n{outcome}")


def test_a_result_that_comes_before_its_action_or_twice_answers_no_call() -> None:
    sent = _history([result("r", "a"), proposal("a"), result("s", "a"), result("t", "a")])
    assert [m["role"] for m in sent] == [USER, ASSISTANT, "tool", USER]


def test_after_five_results_no_tools_are_given() -> None:
    rounds = [message(USER, "go")]
    for number in range(5):
        assert may_have_tools(rounds)
        rounds += [proposal(f"a{number}"), result(f"r{number}", f"a{number}")]
    assert not may_have_tools(rounds)
    assert may_have_tools([*rounds, message(ASSISTANT), message(USER, "again")])


def test_only_the_user_s_messages_count_as_typed() -> None:
    others = [message(ASSISTANT, "its"), result("r", "a", "a document"), message("system", "prompt")]
    doc = [message(USER, "mine"), *others, message(USER, "unanswered"), message(USER, "last")]
    assert written(doc) == ["mine", "unanswered", "last"]


TOOLS = parse_tools([{"name": "note", "description": "Writes a note."}], "/tools")


@pytest.mark.parametrize("single", [True, False])
def test_the_tools_go_with_their_rules(single: bool) -> None:
    body = completion(conversation(USER), job("0", instructions="i"), Scope("p"), TOOLS, single)
    assert contents(body)[:3] == ["p", "i", rules()]
    assert [tool["function"]["name"] for tool in body["tools"]] == ["note"]
    assert body["tool_choice"] == "auto"
    assert body.get("parallel_tool_calls", True) is not single


def test_without_tools_nothing_is_said_of_them() -> None:
    body = completion(conversation(USER), job("0"), Scope(), (), True)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)
    assert contents(body) == ["m0"]


def test_the_llm_of_the_assistant() -> None:
    scope = Scope(provider=Provider(model="m", api_key="k"))
    assert completion(conversation(USER), job("0"), scope)["metadata"]["llm_override"] == {"model": "m", "api_key": "k"}


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
        ({}, Scope(), {"model": "openrag-alice.localhost", "stream": True, "stream_options": {"include_usage": True},
                       "metadata": {"websearch": False}}),
        ({"documents": False}, Scope(), {"stream": True, "stream_options": {"include_usage": True},
                                         "metadata": {"websearch": False}}),
        ({"stream": False, "websearch": True, "documents": False}, Scope(),
         {"stream": False, "metadata": {"websearch": True}}),
        ({}, Scope(workspace="w"), {"model": "openrag-alice.localhost", "stream": True,
                                    "stream_options": {"include_usage": True},
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


@pytest.mark.parametrize("ids", ["abc", 5, {"0": "x"}, None, [], [3, None]])
def test_what_a_client_wrote_for_attachments_that_are_none(ids: Any) -> None:
    doc = {"messages": [message(USER, "a", id="1", attachmentIDs=ids), proposal("2"), result("3", "2")]}
    assert "attachments" not in completion(doc, job("3"), Scope())["metadata"]


def test_the_attachments_of_the_question_apply_to_the_answers_behind_its_results() -> None:
    doc = {"messages": [message(USER, "a", id="1", attachmentIDs=["x"]), proposal("2"), result("3", "2")]}
    assert completion(doc, job("3"), Scope())["metadata"]["attachments"] == [{"id": "x"}]
    assert "attachments" not in completion(doc, job("3", documents=False), Scope())["metadata"]
