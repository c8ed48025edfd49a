from typing import Any

import pytest

from ragcore.chat import stream as chat_stream
from ragcore.chat.stream import Stream
from ragcore.errors import Retryable
from ragcore.grounded import ask
from ragcore.grounded.ask import Grounded
from ragcore.grounded.cite import Citations
from ragcore.openrag import Chunk, Usage


@pytest.fixture
def published() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def grounded(published: list[dict[str, Any]]) -> Grounded:
    return Grounded(Stream(published.append, "alice.localhost"), Citations(2))


def said(published: list[dict[str, Any]]) -> list[str]:
    return [event["content"] for event in published]


def test_nothing_is_shown_before_the_first_citation(grounded: Grounded, published: list[dict[str, Any]]) -> None:
    for text in ("It is", " red [", "9] and"):
        grounded.take(Chunk(text))
    assert published == []
    for text in (" tall [1", "], I", " say ["):
        grounded.take(Chunk(text))
    assert said(published) == ["It is red and tall [1], I", " say"]
    grounded.end()
    assert said(published)[2:] == [" ["]


def test_what_cites_nothing_is_never_shown(grounded: Grounded, published: list[dict[str, Any]]) -> None:
    grounded.take(Chunk("It is red [3].", finish_reason="stop", usage=Usage(1, 1, 2)))
    grounded.end()
    assert published == []
    assert grounded.stream.ended
    assert grounded.stream.usage == Usage(1, 1, 2)


def test_thoughts_and_calls_are_no_answer(grounded: Grounded, published: list[dict[str, Any]]) -> None:
    source = {"source_type": "web", "url": "http://u"}
    grounded.take(Chunk("Red [1].", "Hm.", ({"index": 0, "function": {"name": "x"}},), sources=(source,)))
    assert said(published) == ["Red [1]."]
    assert grounded.stream.calls.first() is None
    assert grounded.stream.sources == []


def test_what_is_held_is_bounded(grounded: Grounded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "LARGEST_ANSWER", 10)
    grounded.take(Chunk("0123456789"))
    with pytest.raises(Retryable):
        grounded.take(Chunk("x"))


def test_an_answer_is_bounded(grounded: Grounded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_stream, "LARGEST_ANSWER", 10)
    with pytest.raises(Retryable):
        grounded.take(Chunk("0123 [1] and more "))
    assert grounded.stream.content == ["0123 [1] a"]
    assert grounded.stream.truncated
