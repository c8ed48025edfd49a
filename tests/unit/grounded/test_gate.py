from typing import Any

import pytest

from ragcore.chat import stream as chat_stream
from ragcore.chat.stream import Stream
from ragcore.errors import Retryable
from ragcore.grounded import gate as gates
from ragcore.grounded.cite import Citations
from ragcore.grounded.gate import Gate
from ragcore.openrag import Chunk, Usage


@pytest.fixture
def published() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def gate(published: list[dict[str, Any]]) -> Gate:
    return Gate(Stream(published.append, "alice.localhost"), Citations(2))


def said(published: list[dict[str, Any]]) -> list[str]:
    return [event["content"] for event in published]


def test_nothing_is_shown_before_the_first_citation(gate: Gate, published: list[dict[str, Any]]) -> None:
    for text in ("It is", " red [", "9] and"):
        gate.take(Chunk(text))
    assert published == []
    for text in (" tall [1", "], I", " say ["):
        gate.take(Chunk(text))
    assert said(published) == ["It is red and tall [1], I", " say"]
    gate.end()
    assert said(published)[2:] == [" ["]


def test_what_cites_nothing_is_never_shown(gate: Gate, published: list[dict[str, Any]]) -> None:
    gate.take(Chunk("It is red [3].", finish_reason="stop", usage=Usage(1, 1, 2)))
    gate.end()
    assert published == []
    assert gate.stream.ended
    assert gate.stream.usage == Usage(1, 1, 2)


def test_thoughts_and_calls_are_no_answer(gate: Gate, published: list[dict[str, Any]]) -> None:
    source = {"source_type": "web", "url": "http://u"}
    gate.take(Chunk("Red [1].", "Hm.", ({"index": 0, "function": {"name": "x"}},), sources=(source,)))
    assert said(published) == ["Red [1]."]
    assert gate.stream.calls.first() is None
    assert gate.stream.sources == []


def test_what_is_held_is_bounded(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "LARGEST_ANSWER", 10)
    gate.take(Chunk("0123456789"))
    with pytest.raises(Retryable):
        gate.take(Chunk("x"))


def test_an_answer_is_bounded(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_stream, "LARGEST_ANSWER", 10)
    with pytest.raises(Retryable):
        gate.take(Chunk("0123 [1] and more "))
    assert gate.stream.content == ["0123 [1] a"]
    assert gate.stream.truncated


# with tools

CALL = ({"index": 0, "id": "c", "function": {"name": "x", "arguments": "{}"}},)


def with_tools(published: list[dict[str, Any]], supported: bool = False) -> Gate:
    return Gate(Stream(published.append, "alice.localhost"), Citations(2), may_call=True, supported=supported)


@pytest.mark.parametrize("supported", [False, True])
def test_what_is_said_before_a_call_is_no_answer(published: list[dict[str, Any]], supported: bool) -> None:
    gate = with_tools(published, supported)
    for chunk in (Chunk("I look it up [1]."), Chunk(" More" * 100 if not supported else "", tool_calls=CALL)):
        gate.take(chunk)
    gate.end()
    assert published == []
    assert not gate.opened
    assert [call.name for call in gate.stream.calls.all()] == ["x"]


@pytest.mark.parametrize(("text", "supported"), [("Red [1].", False), ("Four documents.", True)])
def test_a_short_answer_is_shown_at_its_end(published: list[dict[str, Any]], text: str, supported: bool) -> None:
    gate = with_tools(published, supported)
    gate.take(Chunk(text))
    assert published == []
    gate.end()
    assert said(published) == [text]


def test_a_long_one_is_shown_before(published: list[dict[str, Any]]) -> None:
    gate = with_tools(published)
    gate.take(Chunk("Red [1]. " + "x" * gates.PREAMBLE))
    gate.take(Chunk("more"))
    assert said(published)[1:] == ["more"]


@pytest.mark.parametrize(("text", "supported"), [("Red.", False), ("Red [3].", False), (" ", True)])
def test_what_rests_on_nothing_is_not(published: list[dict[str, Any]], text: str, supported: bool) -> None:
    gate = with_tools(published, supported)
    gate.take(Chunk(text * 100))
    gate.end()
    assert published == []


def test_what_follows_other_text_is_a_paragraph_of_its_own(published: list[dict[str, Any]]) -> None:
    stream = Stream(published.append, "alice.localhost")
    stream.take(Chunk("Red [1]."))
    gate = Gate(stream, Citations(2), supported=True)
    gate.take(Chunk("It is noted."))
    assert said(published)[1:] == ["\n\nIt is noted."]
