import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat import calls as module
from ragcore.chat.calls import Call, Calls
from ragcore.openrag.completions import chunk_of_answer, chunks_of_stream

Json = dict[str, Any]
NOTE = '{"title": "Milk"}'
ABSENT = object()


def entry(arguments: Any = ABSENT, index: Any = ABSENT, id: Any = ABSENT, name: Any = ABSENT) -> Json:  # noqa: A002
    function = {k: v for k, v in {"name": name, "arguments": arguments}.items() if v is not ABSENT}
    return {k: v for k, v in {"index": index, "id": id}.items() if v is not ABSENT} | {"function": function}


def first(*chunks: list[Json]) -> Call | None:
    calls = Calls()
    for chunk in chunks:
        calls.take(chunk)
    return calls.first()


NOTE_CALL = Call("c1", "note", NOTE)

STREAMS: dict[str, tuple[list[list[Json]], Call | None]] = {
    "as OpenAI streams": (
        [[entry("", 0, "c1", "note")], [entry('{"title"', 0)], [entry(': "Milk"', 0)], [entry("}", 0)]],
        NOTE_CALL,
    ),
    "whole in one fragment": ([[entry(NOTE, 0, "c1", "note")]], NOTE_CALL),
    "the name in every fragment": (
        [[entry("", 0, "c1", "note")], [entry('{"title": ', 0, "c1", "note")], [entry('"Milk"}', 0, "c1", "note")]],
        NOTE_CALL,
    ),
    "the name in every fragment, no id": (
        [[entry("", 0, "", "note")], [entry('{"title": ', 0, "", "note")], [entry('"Milk"}', 0, "", "note")]],
        Call("", "note", NOTE),
    ),
    "no id": ([[entry('{"title": ', 0, name="note")], [entry('"Milk"}', 0)]], Call("", "note", NOTE)),
    "a null id": ([[entry('{"title": ', 0, None, "note")], [entry('"Milk"}', 0, None, None)]], Call("", "note", NOTE)),
    "an id that comes late": ([[entry("", 0, "", "note")], [entry(NOTE, 0, "c1")]], NOTE_CALL),
    "another id in every fragment": (
        [[entry("", 0, "c1", "note")], [entry('{"title": ', 0, "c2")], [entry('"Milk"}', 0, "c3", None)]],
        NOTE_CALL,
    ),
    "no index": ([[entry('{"title": ', id="c1", name="note")], [entry('"Milk"}', id="c1")]], NOTE_CALL),
    "no index, and the id once": ([[entry('{"title": ', id="c1", name="note")], [entry('"Milk"}')]], NOTE_CALL),
    "the index once": ([[entry('{"title": ', 0, "c1", "note")], [entry('"Milk"}')]], NOTE_CALL),
    "a null index": ([[entry('{"title": ', None, "c1", "note")], [entry('"Milk"}', None)]], NOTE_CALL),
    "no index, no id": ([[entry('{"title": ', name="note")], [entry('"Milk"}')]], Call("", "note", NOTE)),
    "an index that is no number": ([[entry('{"title": ', "0", "c1", "note")], [entry('"Milk"}', "0")]], NOTE_CALL),
    "two fragments in one chunk": ([[entry("", 0, "c1", "note"), entry(NOTE, 0)]], NOTE_CALL),
    "arguments as an object": ([[entry({"title": "Milk"}, 0, "c1", "note")]], NOTE_CALL),
    "arguments as an object, then nothing": (
        [[entry({"title": "Milk"}, 0, "c1", "note")], [entry("", 0)], [entry(None, 0)]],
        NOTE_CALL,
    ),
    "null arguments": ([[entry(None, 0, "c1", "note")]], Call("c1", "note", "")),
    "empty arguments": ([[entry("", 0, "c1", "note")]], Call("c1", "note", "")),
    "an empty object": ([[entry({}, 0, "c1", "note")]], Call("c1", "note", "")),
    "an empty object, then the text": ([[entry({}, 0, "c1", "note")], [entry(NOTE, 0)]], NOTE_CALL),
    "no arguments": ([[entry(index=0, id="c1", name="note")]], Call("c1", "note", "")),
    "two calls at once": (
        [
            [entry("", 0, "c1", "note"), entry("", 1, "c2", "mail")],
            [entry('{"title": ', 0), entry('{"to": ', 1)],
            [entry('"Paul"}', 1), entry('"Milk"}', 0)],
        ],
        NOTE_CALL,
    ),
    "two calls at once, by id": (
        [
            [entry("", id="c1", name="note"), entry("", id="c2", name="note")],
            [entry('{"title": ', id="c1"), entry('{"to": ', id="c2")],
            [entry('"Paul"}', id="c2"), entry('"Milk"}', id="c1")],
        ],
        NOTE_CALL,
    ),
    "the second call first": ([[entry("{}", 1, "c2", "mail")], [entry(NOTE, 0, "c1", "note")]], NOTE_CALL),
    "one index for two calls in one chunk": (
        [[entry(NOTE, 0, "c1", "note"), entry("{}", 0, "c2", "mail")]],
        NOTE_CALL,
    ),
    "one index and one name for two calls": ([[entry(NOTE, 0, "c1", "note"), entry("{}", 0, "c2", "note")]], NOTE_CALL),
    "one index for two calls without arguments": (
        [[entry("", 0, "c1", "note"), entry(NOTE, 0, "c2", "note")]],
        Call("c1", "note", ""),
    ),
    "one index for two calls without ids": (
        [[entry(NOTE, 0, "", "note"), entry("{}", 0, "", "mail")]],
        Call("", "note", NOTE),
    ),
    "one index and one name for two calls without ids": (
        [[entry(NOTE, 0, "", "note"), entry('{"title": "Tea"}', 0, "", "note")]],
        Call("", "note", NOTE),
    ),
    "one index for two calls, in turns": (
        [
            [entry('{"title": ', 0, "c1", "note"), entry('{"to": ', 0, "c2", "mail")],
            [entry('"Milk"}', 0, "c1"), entry("3}", 0, "c2")],
        ],
        NOTE_CALL,
    ),
    "one index for two calls, one after the other": (
        [[entry('{"title": ', 0, "c1", "note")], [entry('"Milk"}', 0)], [entry("", 0, "c2", "note")], [entry("{}", 0)]],
        NOTE_CALL,
    ),
    "whole calls without index and id": (
        [[entry(NOTE, name="note"), entry('{"title": "Tea"}', name="note"), entry("{}", name="mail")]],
        Call("", "note", NOTE),
    ),
    "the whole call again at the end": (
        [[entry(NOTE[:5], 0, "c1", "note")], [entry(NOTE[5:], 0)], [entry(NOTE, 0, "c1", "note")]],
        NOTE_CALL,
    ),
    "the whole arguments again at the end": (
        [[entry(NOTE[:5], 0, "c1", "note")], [entry(NOTE[5:] + "\n", 0)], [entry(" " + NOTE, 0)]],
        Call("c1", "note", NOTE + "\n"),
    ),
    "braces in the arguments": (
        [[entry('{"title": "}', 0, "c1", "note")], [entry("{", 0)], [entry("}", 0)], [entry('{"}', 0)]],
        Call("c1", "note", '{"title": "}{}{"}'),
    ),
    "fragments that say nothing": (
        [[{}, entry("", 0, "", "")], [entry(NOTE, 0, "c1", "note")], [entry(None, 0, None, None)], [{}]],
        NOTE_CALL,
    ),
    "nothing": ([[], [{}], [entry("", 0)], [{"index": 0, "function": None}], [{"function": "x"}]], None),
    "a call without a name": ([[entry(NOTE, 0, "c1")]], Call("c1", "", NOTE)),
    "half of a surrogate pair": ([[entry("{}", 0, "c\ud800", "note")]], Call("c\ufffd", "note", "{}")),
}  # fmt: skip


@pytest.mark.parametrize("case", STREAMS)
def test_a_call_is_put_together_from_every_shape(case: str) -> None:
    chunks, expected = STREAMS[case]
    assert first(*chunks) == expected


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        (" null ", {}),
        ("{}", {}),
        (NOTE, {"title": "Milk"}),
        (f"\n{NOTE}\n", {"title": "Milk"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"title": "Mi', None),
        ('{"a": 1}}', None),
        ('{"a": 1}{"a": 2}', None),
        ("{'a': 1}", None),
        ("{a: 1}", None),
        ("[]", None),
        ('[{"a": 1}]', None),
        ('"{}"', None),
        ("0", None),
        ("false", None),
        ("NaN", None),
        ("Milk", None),
        ("[" * 100_000, None),
        ('{"a": ' * 100_000, None),
        ('{"a": 1e999}', {"a": float("inf")}),
        ('{"a": ' + "9" * 100_000 + "}", {"a": float("inf")}),
    ],
)
def test_the_arguments_parsed(arguments: str, parsed: Json | None) -> None:
    assert Call("", "note", arguments).parsed() == parsed


@pytest.mark.parametrize("arguments", [0, False, [], [{}], 3.5, True])
def test_arguments_of_another_type_are_no_object(arguments: Any) -> None:
    call = first([entry(arguments, 0, "c1", "note")])
    assert call is not None
    assert call.parsed() is None


def test_arguments_that_are_nested_deeply_are_not_whole() -> None:
    deep: Json = {}
    for _ in range(50_000):
        deep = {"a": deep}
    call = first([entry(deep, 0, "c1", "note")])
    assert call is not None
    assert call.parsed() is None


def test_of_an_unstreamed_answer() -> None:
    tool_calls = [
        {"id": "c1", "type": "function", "function": {"name": "note", "arguments": NOTE}},
        {"id": "c2", "type": "function", "function": {"name": "note", "arguments": "{}"}},
    ]
    body = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": tool_calls}}]}
    assert first(list(chunk_of_answer(json.dumps(body).encode()).tool_calls)) == NOTE_CALL


def test_of_a_stream() -> None:
    deltas = [{"content": "So: "}, {"tool_calls": [entry("", 0, "c1", "note")]}, {"tool_calls": [entry(NOTE, 0)]}]
    lines = [b"data:" + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\r\n\r\n" for delta in deltas]
    assert first(*(list(chunk.tool_calls) for chunk in chunks_of_stream(lines))) == NOTE_CALL


def test_beyond_the_limit_of_the_arguments_nothing_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARACTERS", 100)
    call = first([entry('{"title": "', 0, "c1", "note")], *[[entry("x", 0)]] * 1000, [entry('"}', 0)])
    assert call is not None
    assert len(call.arguments) < 102
    assert call.parsed() is None


def test_a_call_that_was_whole_before_the_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARACTERS", 100)
    assert first([entry(NOTE, 0, "c1", "note")], *[[entry("x" * 50, 1, "c2", "mail")]] * 100) == NOTE_CALL


def test_the_number_of_calls_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CALLS", 3)
    calls = Calls()
    calls.take([entry("", 0, "c1", "note"), *(entry("{}", n, f"c{n}", "mail") for n in range(1, 100))])
    assert len(calls._calls) == 4
    assert calls.first() == Call("c1", "note", "")


def test_a_long_call_in_small_pieces_that_look_like_calls() -> None:
    pieces = ['{"a": "', *["{}"] * 10_000, '"}']
    began = time.process_time()
    assert first(*([entry(piece, 0, "", "note")] for piece in pieces)) == Call("", "note", "".join(pieces))
    assert time.process_time() - began < 5


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["{", "}", "}{", "{}", '"']),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(st.text(min_size=1, max_size=3), json_values, min_size=1, max_size=4)
styles = st.fixed_dictionaries(
    {
        "index": st.booleans(),
        "id": st.sampled_from(["none", "first", "every", "other"]),
        "name": st.sampled_from(["first", "every"]),
        "together": st.booleans(),
    }
)


def fragments(text: str, cuts: list[int], style: Json, index: int = 0, name: str = "note") -> list[Json]:
    """The fragments of one call, as a gateway of some style makes them."""
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    made = []
    for n, (start, end) in enumerate(pairwise(places)):
        repeated = style["name"] == "every" and style["id"] != "other"
        ids = {"none": "", "first": "c" if n == 0 else "", "every": "c", "other": f"c{n or ''}"}
        call_id = f"{ids[style['id']]}{index or ''}" if ids[style["id"]] else ""
        made.append(
            entry(
                text[start:end],
                index if style["index"] else None,
                call_id,
                name if n == 0 or repeated else None,
            )
        )
    return made


@given(objects, st.booleans(), st.lists(st.integers(min_value=0), max_size=20), styles)
def test_any_way_of_cutting_gives_the_same_call(arguments: Json, ascii: bool, cuts: list[int], style: Json) -> None:  # noqa: A002
    text = json.dumps(arguments, ensure_ascii=ascii)
    made = fragments(text, cuts, style)
    call = first(made) if style["together"] else first(*([each] for each in made))
    assert call == Call("" if style["id"] == "none" else "c", "note", text)
    assert call.parsed() == arguments


@given(objects, objects, st.lists(st.integers(min_value=0), max_size=8), styles, st.randoms())
def test_fragments_of_two_calls_in_any_mixture(one: Json, two: Json, cuts: list[int], style: Json, random: Any) -> None:
    style = {**style, "index": True}
    queues = [fragments(json.dumps(a), cuts, style, n) for n, a in enumerate((one, two))]
    mixed = []
    while any(queues):
        mixed.append([random.choice([queue for queue in queues if queue]).pop(0)])
    call = first(*mixed)
    assert call is not None
    assert call.parsed() == one


@given(objects, objects, st.lists(st.integers(min_value=0), max_size=8), styles, st.sampled_from(["note", "mail"]))
def test_calls_one_after_the_other_with_one_index(
    one: Json, two: Json, cuts: list[int], style: Json, name: str
) -> None:
    text = json.dumps(two)
    behind = [{**each, "id": each["id"] and "d"} for each in fragments(text, [*cuts, 1], style, 0, name)]
    call = first(fragments(json.dumps(one), cuts, style), behind)
    assert call is not None
    assert call.parsed() == one


def test_all_calls_are_given_in_the_order_of_the_first() -> None:
    calls = Calls()
    for index in (1, 0, 2):
        calls.take([{"index": index, "id": f"c{index}", "function": {"name": f"n{index}", "arguments": "{}"}}])
    assert [call.id for call in calls.all()] == ["c0", "c1", "c2"]
    assert calls.all()[0] == calls.first()
    assert Calls().all() == []


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just("{}"),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=5,
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "index": st.integers(0, 2) | anything,
        "id": st.sampled_from(["", "a", "b", "\udc00"]) | anything,
        "function": anything
        | st.fixed_dictionaries({}, optional={"name": st.sampled_from(["note", "mail"]) | anything,
                                              "arguments": anything}),
    },
)  # fmt: skip


@given(st.lists(st.lists(entries, max_size=3), max_size=5))
def test_any_fragments_give_a_call_or_none(chunks: list[list[Json]]) -> None:
    call = first(*chunks)
    if call is not None:
        call.id.encode()
        parsed = call.parsed()
        assert parsed is None or isinstance(parsed, dict)
