import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat.arguments import Action, Dropped, action_of
from ragcore.chat.calls import Call, Calls
from ragcore.chat.tools import Param, Tool

Json = dict[str, Any]
TYPES = ["string", "number", "integer", "boolean", "array"]
ALL = Tool("all", "Takes all types.", params=tuple(Param(kind, kind) for kind in TYPES))
EMPTY = {"string": "", "number": None, "integer": None, "boolean": None, "array": []}
MAIL = Tool(
    "mail",
    "Writes a mail.",
    params=(
        Param("to", "array", required=True, user_written=True),
        Param("from", "string", user_written=True),
        Param("body", "string"),
    ),
)


def typed(text: str) -> str | None:
    """As a user who typed `Paul`, `Claire` and `İ`, in this spelling."""
    return {"paul": "Paul", "claire": "Claire", "İ": "İ"}.get(text if text == "İ" else text.lower())


def never(text: str) -> str | None:
    raise AssertionError("asked for a param that is not user-written, or for a blank")


def params(tool: Tool, arguments: Any, user_written: Any = never) -> Json:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return action_of(Call("c1", tool.name, text), [MAIL, ALL] if tool in (MAIL, ALL) else [tool], user_written).params


@pytest.mark.parametrize(
    ("kind", "given_", "value"),
    [
        ("string", "Milk", "Milk"),
        ("string", " \n Milk and\n bread\u00a0\t", "Milk and\n bread"),
        ("string", " \u3000", ""),
        ("string", 3, ""),
        ("string", True, ""),
        ("string", ["Milk"], ""),
        ("string", {"a": "Milk"}, ""),
        ("string", "\ud83d\ude00", "😀"),
        ("string", "a\ud83d", "a\ufffd"),
        ("string", "\ude00\ud83d", "\ufffd\ufffd"),
        ("number", 3, 3),
        ("number", 3.5, 3.5),
        ("number", 3.0, 3.0),
        ("number", -0.25, -0.25),
        ("number", 0, 0),
        ("number", 10**300, 10**300),
        ("number", "3", None),
        ("number", True, None),
        ("number", [3], None),
        ("integer", 3, 3),
        ("integer", 3.0, 3),
        ("integer", -3.0, -3),
        ("integer", 3.5, None),
        ("integer", 0, 0),
        ("integer", 2**53 + 1, 2**53 + 1),
        ("integer", 1e300, int(1e300)),
        ("integer", "3", None),
        ("integer", False, None),
        ("boolean", True, True),
        ("boolean", False, False),
        ("boolean", 0, None),
        ("boolean", 1, None),
        ("boolean", "true", None),
        ("array", ["b", "a"], ["b", "a"]),
        ("array", [" b", "a", "b ", "", " ", "a"], ["b", "a"]),
        ("array", ["Paul", "paul"], ["Paul", "paul"]),
        ("array", ["a", 3, None, True, ["b"], {"c": "d"}, "e"], ["a", "e"]),
        ("array", ["\ud800", "\udbff"], ["\ufffd"]),
        ("array", "Paul", []),
        ("array", {"0": "Paul"}, []),
        ("array", [], []),
        ("array", [[]], []),
        *((kind, None, empty) for kind, empty in EMPTY.items()),
    ],
)
def test_a_value_has_its_type_or_is_unknown(kind: str, given_: Any, value: Any) -> None:
    expected = {**EMPTY, kind: value}
    actual = params(ALL, {kind: given_})
    assert actual == expected
    assert type(actual[kind]) is type(value)
    assert list(actual) == TYPES


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 310, "9" * 100_000])
@pytest.mark.parametrize("kind", ["number", "integer"])
def test_numbers_that_no_program_could_read(number: str, kind: str) -> None:
    assert params(ALL, f'{{"{kind}": {number}, "string": "x"}}') == {**EMPTY, "string": "x"}


@pytest.mark.parametrize("arguments", ["", " ", "null", "{}", '{"other": 3, "Boolean": true}'])
def test_every_param_is_present(arguments: str) -> None:
    assert params(ALL, arguments) == EMPTY


def test_the_action() -> None:
    tool = Tool("note", "Writes a note.", params=(Param("title", "string", required=True),))
    assert action_of(Call("c1", "note", '{"title": "Milk"}'), [tool], never) == Action("note", {"title": "Milk"}, "c1")
    assert action_of(Call("", "note", '{"title": "Milk"}'), [tool], never).tool_call_id == ""


def test_a_surrogate_pair_that_came_in_two_fragments() -> None:
    calls = Calls()
    calls.take([{"function": {"name": "all", "arguments": '{"string": "\ud83d'}}])
    calls.take([{"function": {"arguments": '\ude00"}'}}])
    call = calls.first()
    assert call is not None
    assert action_of(call, [ALL], never).params["string"] == "😀"


def test_a_tool_without_params() -> None:
    assert params(Tool("list", "Lists."), '{"a": 1}') == {}


@pytest.mark.parametrize(
    "call",
    [
        Call("c1", "other", "{}"),
        Call("c1", "", "{}"),
        Call("c1", "All", "{}"),
        Call("c1", "all ", "{}"),
        Call("c1", "all", "Milk"),
        Call("c1", "all", '{"string": "Mi'),
        Call("c1", "all", "[]"),
        Call("c1", "all", "NaN"),
    ],
)
def test_a_call_of_which_no_action_can_be_made(call: Call) -> None:
    with pytest.raises(Dropped):
        action_of(call, [ALL], never)


@pytest.mark.parametrize(
    ("kind", "given_", "dropped"),
    [
        ("string", "", True),
        ("string", " ", True),
        ("string", None, True),
        ("string", 3, True),
        ("string", "0", False),
        ("array", [], True),
        ("array", ["", " "], True),
        ("array", [3], True),
        ("array", ["a"], False),
        ("number", None, True),
        ("number", "3", True),
        ("number", 0, False),
        ("number", 0.0, False),
        ("integer", 0, False),
        ("integer", -0.0, False),
        ("integer", 3.5, True),
        ("boolean", False, False),
        ("boolean", True, False),
        ("boolean", None, True),
        ("boolean", 0, True),
    ],
)
def test_a_required_param_that_is_empty_drops_the_call(kind: str, given_: Any, dropped: bool) -> None:
    tool = Tool("one", "Takes one.", params=(Param("p", kind, required=True), Param("q", "string")))
    if not dropped:
        assert list(params(tool, {"p": given_})) == ["p", "q"]
        return
    with pytest.raises(Dropped):
        params(tool, {"p": given_})


def test_a_required_param_that_is_missing_drops_the_call() -> None:
    with pytest.raises(Dropped, match="mail"):
        params(MAIL, {"from": "Paul", "body": "Hi"}, typed)


@pytest.mark.parametrize(
    ("to", "written"),
    [
        (["paul"], ["Paul"]),
        ([" PAUL ", "claire"], ["Paul", "Claire"]),
        (["claire", "eve@example.com", "paul"], ["Claire", "Paul"]),
        (["paul", "claire", "PAUL"], ["Paul", "Claire"]),
        (["", " ", 3, "paul"], ["Paul"]),
        (["i", "İ", "paul"], ["İ", "Paul"]),
    ],
)
def test_user_written_values_are_as_the_user_typed_them(to: list[Any], written: list[str]) -> None:
    assert params(MAIL, {"to": to}, typed) == {"to": written, "from": "", "body": ""}


def test_doubles_of_user_written_values_are_told_whatever_their_case() -> None:
    values = ["b", "Éa", "éA", "B", "i", "İ", "ß", "ss", "\u03c3", "\u03a3", "\u03c2"]
    expected = ["b", "Éa", "i", "İ", "ß", "ss", "\u03c3"]
    assert params(MAIL, {"to": values}, lambda text: text)["to"] == expected


@pytest.mark.parametrize(("sender", "written"), [("claire", "Claire"), ("eve", ""), (["paul"], ""), (" ", "")])
def test_a_user_written_string(sender: Any, written: str) -> None:
    assert params(MAIL, {"to": ["Paul"], "from": sender}, typed)["from"] == written


def test_a_required_param_that_the_user_did_not_write_drops_the_call() -> None:
    with pytest.raises(Dropped):
        params(MAIL, {"to": ["eve@example.com"], "body": "Hi"}, typed)


def test_other_params_carry_what_the_documents_say() -> None:
    assert params(MAIL, {"to": ["paul"], "body": "eve"}, typed)["body"] == "eve"


def test_what_the_user_is_asked_for_is_trimmed_and_not_blank() -> None:
    asked: list[str] = []
    with pytest.raises(Dropped):
        params(MAIL, {"to": [" a", "", "b", "a "], "from": " "}, asked.append)
    assert asked == ["a", "b"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just("\ud800 "),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from([*TYPES, "p"]), below, max_size=4),
    max_leaves=8,
)
a_param = st.builds(Param, st.sampled_from([*TYPES, "p", ""]), st.sampled_from(TYPES), required=st.booleans())
a_written_param = st.builds(
    Param, st.just("w"), st.sampled_from(["string", "array"]), required=st.booleans(), user_written=st.just(True)
)
some_params = st.lists(a_param | a_written_param, max_size=4, unique_by=lambda p: p.name).map(tuple)


@given(some_params, anything | st.dictionaries(st.sampled_from([*TYPES, "p", "", "w"]), anything, max_size=6))
def test_any_arguments_give_an_action_or_are_dropped(of: tuple[Param, ...], arguments: Any) -> None:
    try:
        action = action_of(Call("c", "t", json.dumps(arguments)), [Tool("t", "d", params=of)], lambda t: f"<{t}>")
    except Dropped:
        return
    assert list(action.params) == [p.name for p in of]
    json.dumps(action.params, ensure_ascii=False, allow_nan=False).encode()
    for p in of:
        check(p, action.params[p.name])


@given(st.text(max_size=30) | st.text(alphabet='{}[]":,0123e-.Nan\\u d', max_size=30))
def test_any_text_gives_an_action_or_is_dropped(text: str) -> None:
    try:
        action = action_of(Call("c", "all", text), [ALL], never)
    except Dropped:
        return
    assert list(action.params) == TYPES


def check(param: Param, value: Any) -> None:
    texts = value if param.type == "array" else [value] if param.type == "string" and value else []
    assert all(text and text == text.strip() for text in texts)
    assert len(set(texts)) == len(texts)
    assert all(text.startswith("<") for text in texts if param.user_written)
    expected = {"string": str, "array": list, "boolean": bool, "integer": int, "number": int | float}[param.type]
    assert isinstance(value, expected) or (value is None and param.type in ("boolean", "integer", "number"))
    assert param.type == "boolean" or not isinstance(value, bool)
    assert not isinstance(value, float) or math.isfinite(value)
    assert not param.required or value not in ("", [], None)
