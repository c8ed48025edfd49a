import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS, Event, Published
from ragcore.events.event import MAX_SIZE

MIB = 1 << 20


def encoded(doc: dict[str, Any], type_: str = "io.cozy.tests") -> dict[str, Any]:
    """The doc of an event as a client reads it."""
    text = Event("UPDATED", type_, "d1", doc).encode()
    assert len(text.encode()) <= MAX_SIZE
    message = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (message["event"], message["payload"]["id"], message["payload"]["type"]) == ("UPDATED", "d1", type_)
    sent: dict[str, Any] = message["payload"]["doc"]
    return sent


def test_an_event_as_the_websocket_carries_it() -> None:
    event = Event("CREATED", CHAT_EVENTS, "q1", {"object": "delta", "content": "é", "position": 0})
    assert json.loads(event.encode()) == {
        "event": "CREATED",
        "payload": {
            "id": "q1",
            "type": CHAT_EVENTS,
            "doc": {"_id": "q1", "object": "delta", "content": "é", "position": 0},
        },
    }


@pytest.mark.parametrize(("type_", "question"), [(CHAT_EVENTS, "d1"), (CONVERSATIONS, ""), ("io.cozy.files", "")])
def test_whose_history_an_event_belongs_to(type_: str, question: str) -> None:
    assert Event("CREATED", type_, "d1", {}).question == question


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), values, max_size=5))
def test_a_small_document_goes_out_whole(doc: dict[str, Any]) -> None:
    assert encoded(doc) == {"_id": "d1", **doc}


words = st.sampled_from(["x", "é", "€", "😀", "a b "])


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.tuples(words, st.integers(0, MIB)), max_size=3),
    st.none() | st.tuples(words, st.integers(0, 2 * MIB)),
    st.integers(0, 300),
    st.integers(0, 30_000),
)
def test_an_event_is_never_larger_than_a_mib(
    fields: dict[str, tuple[str, int]], content: tuple[str, int] | None, messages: int, length: int
) -> None:
    doc: dict[str, Any] = {name: word * count for name, (word, count) in fields.items()}
    if content:
        doc["content"] = content[0] * content[1]
    doc["messages"] = [{"id": f"m{n}", "role": "user", "content": "x" * length} for n in range(messages)]
    sent = encoded({"_rev": "1-a", **doc})
    assert (sent["_id"], sent["_rev"]) == ("d1", "1-a")
    assert [(m["id"], m["role"]) for m in sent["messages"]] == [(m["id"], m["role"]) for m in doc["messages"]]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(words, st.integers(0, 200_000)), max_size=12))
def test_the_first_sources_are_kept(texts: list[tuple[str, int]]) -> None:
    sources = [{"id": str(n), "snippet": word * count} for n, (word, count) in enumerate(texts)]
    sent = encoded({"object": "sources", "content": sources}, CHAT_EVENTS)["content"]
    assert sent == sources[: len(sent)]


def test_as_many_sources_are_kept_as_fit() -> None:
    sources = [{"id": str(n), "snippet": "é" * 10_000} for n in range(75)]
    sent = encoded({"object": "sources", "content": sources}, CHAT_EVENTS)
    assert 30 < len(sent["content"]) < 55
    assert sent["content"] == sources[: len(sent["content"])]


def test_a_conversation_that_is_too_large() -> None:
    messages = [{"id": str(n), "role": "user", "content": "é" * 100_000} for n in range(20)]
    sent = encoded({"_rev": "3-a", "messages": messages, "name": "mine"}, CONVERSATIONS)
    assert sent == {
        "_id": "d1",
        "_rev": "3-a",
        "name": "mine",
        "messages": [{"id": str(n), "role": "user"} for n in range(20)],
        "_cut": True,
    }


def test_a_text_that_is_too_large_is_cut_between_characters() -> None:
    sent = encoded({"object": "delta", "content": "x" + "€" * MIB, "position": 3}, CHAT_EVENTS)
    assert sent["content"].startswith("x€€")
    assert sent["content"].endswith("€")
    assert (sent["object"], sent["position"], sent["_cut"]) == ("delta", 3, True)


def test_half_of_a_surrogate_pair_is_no_text() -> None:
    assert encoded({"a": "\ud83d"})["a"] == "?"


TOO_LARGE = [
    pytest.param({"content": "\n" * MIB}, id="a text whose characters are escaped"),
    pytest.param({"content": "\0" * MIB}, id="a text of control characters"),
    pytest.param({f"k{n}": "x" * 1000 for n in range(2000)}, id="many small fields"),
    pytest.param({"k" * 2 * MIB: 1}, id="the name of a field"),
    pytest.param({"messages": [{"id": "x" * 2 * MIB, "role": "user"}]}, id="the id of a message"),
    pytest.param(
        {"messages": [{"id": f"{n:032x}", "role": "assistant"} for n in range(20_000)]}, id="very many messages"
    ),
    pytest.param(
        {
            "content": [{"snippet": "x" * 1000}] * 1000,
            "messages": [{"id": f"{n:032x}", "role": "user", "content": "x"} for n in range(7000)],
        },
        id="a list and messages",
    ),
]


@pytest.mark.parametrize("doc", TOO_LARGE)
def test_what_is_hard_to_cut(doc: dict[str, Any]) -> None:
    encoded(doc)


@pytest.mark.parametrize(
    "doc",
    [
        pytest.param({"messages": [3], "x": "x" * 2 * MIB}, id="a message that is a number"),
        pytest.param({"messages": ["id"], "x": "x" * 2 * MIB}, id="a message that is a text"),
        pytest.param({"content": "\ud83d" * MIB}, id="a text of half surrogate pairs"),
        pytest.param({"content": [{"a": "\ud83d" * 2000}] * 1000}, id="a list of half surrogate pairs"),
    ],
)
def test_what_cannot_be_cut(doc: dict[str, Any]) -> None:
    encoded(doc)


# as Redis gives it

places = st.tuples(st.integers(0, 2**45), st.integers(0, 2**20))


@given(places, st.sampled_from([CHAT_EVENTS, "io.cozy.files"]), st.text(), st.text())
def test_a_message_of_the_live_channel(place: tuple[int, int], type_: str, doc_id: str, text: str) -> None:
    subject = Event("CREATED", type_, doc_id, {}).subject
    event = Published.parse("d", f"{place[0]}-{place[1]} {subject}\n{text}")
    assert event == Published("d", doc_id if type_ == CHAT_EVENTS else "", f"{place[0]}-{place[1]}", text)
    assert event.order == place
    assert event.subject == (type_, doc_id)


@given(places, places)
def test_places_are_ordered_by_number(one: tuple[int, int], other: tuple[int, int]) -> None:
    events = [Published("d", "", f"{place[0]}-{place[1]}", "") for place in (one, other)]
    assert (events[0].order < events[1].order) == (one < other)


@pytest.mark.parametrize(
    ("type_", "subject"), [(CHAT_EVENTS, (CHAT_EVENTS, "d1")), ("io.cozy.files", ("io.cozy.files", "d1"))]
)
def test_what_subscriptions_are_matched_with(type_: str, subject: tuple[str, str]) -> None:
    event = Event("CREATED", type_, "d1", {"a": "b\nc"})
    published = Published.parse("d", f"1-0 {event.subject}\n{event.encode()}")
    assert published.subject == subject
    assert Published("d", event.question, "1-0", event.encode()).subject == subject
    assert published.text == event.encode()
