from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat.requests import ChatRequest, Result
from ragcore.errors import Invalid

Q = {"q": "Why?"}


def test_the_defaults() -> None:
    assert ChatRequest.parse(Q) == ChatRequest("Why?", True, False, True, "", "", ())


def test_all_fields() -> None:
    body = {
        **Q,
        "stream": False,
        "websearch": True,
        "documents": True,
        "instructions": "Be short.",
        "assistantID": "a",
        "attachmentIDs": ["x", "y"],
    }
    assert ChatRequest.parse(body) == ChatRequest("Why?", False, True, True, "Be short.", "a", ("x", "y"))


def test_a_result() -> None:
    request = ChatRequest.parse(
        {"result": {"messageID": "m", "ok": False, "content": "é" * 8001, "more": 1}, "q": None}
    )
    assert request.result == Result("m", False, "é" * 8000)
    assert ChatRequest.parse({"result": {"messageID": "m", "ok": True, "content": None}}).result == Result("m", True)
    assert ChatRequest.parse({"result": {"messageID": "m", "ok": True}, "attachmentIDs": []}).attachment_ids == ()


NOTE = {"name": "note", "description": "Writes a note."}


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"tools": [NOTE]}, ["note"]),
        ({"actions": [NOTE]}, ["note"]),
        ({"tools": None, "actions": [NOTE]}, ["note"]),
        ({"tools": [], "actions": [NOTE]}, []),
        ({"tools": [], "actions": "not read"}, []),
        ({"tools": None}, []),
    ],
)
def test_actions_are_read_when_tools_are_absent(fields: dict[str, Any], names: list[str]) -> None:
    assert [tool.name for tool in ChatRequest.parse(Q | fields).tools] == names


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (None, ""),
        ([], ""),
        ([Q], ""),
        ("q", ""),
        (3, ""),
        (True, ""),
        ({}, "/q"),
        ({"stream": True}, "/q"),
        ({"Q": "x"}, "/q"),
        ({"q": None}, "/q"),
        ({"q": ""}, "/q"),
        ({"q": " "}, "/q"),
        ({"q": " \t\r\n\u00a0\u2003\u3000"}, "/q"),
        ({"q": 3}, "/q"),
        ({"q": True}, "/q"),
        ({"q": ["x"]}, "/q"),
        ({"q": {"text": "x"}}, "/q"),
        ({**Q, "stream": "true"}, "/stream"),
        ({**Q, "stream": 1}, "/stream"),
        ({**Q, "stream": 0}, "/stream"),
        ({**Q, "websearch": "no"}, "/websearch"),
        ({**Q, "websearch": []}, "/websearch"),
        ({**Q, "documents": "false"}, "/documents"),
        ({**Q, "documents": 0}, "/documents"),
        ({**Q, "instructions": "i" * 2001}, "/instructions"),
        ({**Q, "instructions": " " * 2001}, "/instructions"),
        ({**Q, "instructions": ["i"]}, "/instructions"),
        ({**Q, "instructions": False}, "/instructions"),
        ({**Q, "assistantID": 1}, "/assistantID"),
        ({**Q, "assistantID": {"_id": "a"}}, "/assistantID"),
        ({**Q, "attachmentIDs": "a"}, "/attachmentIDs"),
        ({**Q, "attachmentIDs": {"0": "a"}}, "/attachmentIDs"),
        ({**Q, "attachmentIDs": [1]}, "/attachmentIDs/0"),
        ({**Q, "attachmentIDs": ["a", None]}, "/attachmentIDs/1"),
        ({**Q, "attachmentIDs": ["a", "b", ["c"]]}, "/attachmentIDs/2"),
        ({**Q, "attachmentIDs": [""]}, "/attachmentIDs/0"),
        ({**Q, "attachmentIDs": ["a"], "documents": False}, "/attachmentIDs"),
        ({**Q, "attachmentIDs": [""], "documents": False}, "/attachmentIDs/0"),
        ({**Q, "result": {"messageID": "m", "ok": True}}, "/q"),
        ({"result": None}, "/q"),
        ({"result": {"messageID": "m", "ok": True}, "attachmentIDs": ["a"]}, "/attachmentIDs"),
        ({"result": []}, "/result"),
        ({"result": "m"}, "/result"),
        ({"result": {}}, "/result/messageID"),
        ({"result": {"messageID": "", "ok": True}}, "/result/messageID"),
        ({"result": {"messageID": 3, "ok": True}}, "/result/messageID"),
        ({"result": {"messageID": "m"}}, "/result/ok"),
        ({"result": {"messageID": "m", "ok": None}}, "/result/ok"),
        ({"result": {"messageID": "m", "ok": "yes"}}, "/result/ok"),
        ({"result": {"messageID": "m", "ok": 1}}, "/result/ok"),
        ({"result": {"messageID": "m", "ok": True, "content": ["x"]}}, "/result/content"),
        ({**Q, "tools": {}}, "/tools"),
        ({**Q, "tools": [{"name": "a b", "description": "d"}]}, "/tools/0/name"),
        ({**Q, "actions": [{"name": "a"}]}, "/actions/0/description"),
    ],
)
def test_a_bad_input_is_pointed_at(body: Any, pointer: str) -> None:
    with pytest.raises(Invalid) as caught:
        ChatRequest.parse(body)
    assert caught.value.pointer == pointer
    assert pointer.split("/")[1:2] == [] or pointer.split("/")[1] in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("field", ["stream", "websearch", "documents", "instructions", "assistantID", "attachmentIDs"])
def test_null_is_an_absent_field(field: str) -> None:
    assert ChatRequest.parse({**Q, field: None}) == ChatRequest.parse(Q)


def test_null_is_absent_beside_fields_that_count() -> None:
    assert ChatRequest.parse({**Q, "documents": None, "attachmentIDs": ["a"]}).attachment_ids == ("a",)
    assert ChatRequest.parse({**Q, "documents": False, "attachmentIDs": None}).documents is False


def test_no_attachments_go_with_no_documents() -> None:
    assert ChatRequest.parse({**Q, "documents": False, "attachmentIDs": []}).documents is False


@pytest.mark.parametrize("more", [{"name": 3}, {"": ""}, {"action": {"q": 1}}, {"attachmentids": 3}, {"model": "x"}])
def test_fields_that_nobody_knows_are_ignored(more: dict[str, Any]) -> None:
    assert ChatRequest.parse(Q | more) == ChatRequest.parse(Q)


@pytest.mark.parametrize("instructions", ["", "i" * 2000, "😀" * 2000])
def test_instructions_are_counted_in_characters(instructions: str) -> None:
    assert ChatRequest.parse({**Q, "instructions": instructions}).instructions == instructions


@pytest.mark.parametrize("q", [" x ", "\n?", "0", "😀", "x" * 1_000_000])
def test_a_question_is_kept_as_it_was_typed(q: str) -> None:
    assert ChatRequest.parse({"q": q}).q == q


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(
    ["q", "stream", "websearch", "documents", "instructions", "assistantID", "attachmentIDs", "other"]
)


@given(st.dictionaries(fields, values) | values)
def test_any_body_is_a_request_or_invalid(body: Any) -> None:
    try:
        request = ChatRequest.parse(body)
    except Invalid:
        return
    assert request.q.strip()
    assert type(request.stream) is type(request.websearch) is type(request.documents) is bool
    assert all(isinstance(file_id, str) and file_id for file_id in request.attachment_ids)
