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
