from typing import Any

import pytest

from ragcore.chat import stream as module
from ragcore.chat.stream import Stream
from ragcore.errors import Retryable
from ragcore.openrag import Chunk, Usage

SOURCE = {"source_type": "web", "url": "http://u"}


@pytest.fixture
def published() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def stream(published: list[dict[str, Any]]) -> Stream:
    return Stream(published.append, "alice.localhost")


def test_positions_count_each_kind_apart(stream: Stream, published: list[dict[str, Any]]) -> None:
    for chunk in (Chunk(reasoning="a"), Chunk(reasoning="b", content="c"), Chunk(), Chunk(content=" "), Chunk("d")):
        stream.take(chunk)
    assert published == [
        {"object": "reasoning", "content": "a", "position": 0},
        {"object": "reasoning", "content": "b", "position": 1},
        {"object": "delta", "content": "c", "position": 0},
        {"object": "delta", "content": " ", "position": 1},
        {"object": "delta", "content": "d", "position": 2},
    ]
    assert ("".join(stream.content), "".join(stream.reasoning)) == ("c d", "ab")


def test_the_sources_of_the_last_chunks_count(stream: Stream, published: list[dict[str, Any]]) -> None:
    for sources in ((), ({**SOURCE, "url": "http://first"},), (SOURCE,), ()):
        stream.take(Chunk(sources=sources))
    assert [source["url"] for source in stream.sources] == ["http://u"]
    assert published == []


@pytest.mark.parametrize(
    ("chunk", "ended"), [(Chunk("a"), False), (Chunk(done=True), True), (Chunk(finish_reason="length"), True)]
)
def test_the_end_of_a_stream(stream: Stream, chunk: Chunk, ended: bool) -> None:
    stream.take(chunk)
    stream.take(Chunk())
    assert stream.ended is ended


def test_what_was_truncated_stays_so(stream: Stream) -> None:
    stream.take(Chunk(truncated=True))
    stream.take(Chunk(done=True))
    assert stream.truncated


@pytest.mark.parametrize(("text", "has_text"), [("", False), (" \n", False), (" a", True)])
def test_white_space_is_no_text(stream: Stream, text: str, has_text: bool) -> None:
    stream.take(Chunk(text, reasoning="thinking"))
    assert stream.has_text is has_text


def test_an_error_chunk_ends_it(stream: Stream, published: list[dict[str, Any]]) -> None:
    with pytest.raises(Retryable):
        stream.take(Chunk("text", error="no"))
    assert published == []


def test_an_answer_is_bounded_with_its_reasoning(
    stream: Stream, published: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_ANSWER", 8)
    stream.take(Chunk("abc", reasoning="de"))
    stream.take(Chunk("fgh"))
    assert not stream.truncated
    with pytest.raises(Retryable):
        stream.take(Chunk("i", done=True))
    assert stream.truncated
    assert "".join(stream.content) == "abcfgh"
    assert [event["content"] for event in published] == ["de", "abc", "fgh"]


def test_of_what_is_too_long_the_beginning_counts(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_ANSWER", 2)
    with pytest.raises(Retryable):
        stream.take(Chunk("abc"))
    assert stream.content == ["ab"]


def test_the_tokens_of_all_queries_are_counted_each_by_its_last_chunk(stream: Stream) -> None:
    for tokens in (1, 5, 0):
        stream.take(Chunk(usage=Usage(tokens, 0, tokens)))
    stream.begin_again()
    assert stream.usage == Usage(5, 0, 5)
    stream.take(Chunk(usage=Usage(2, 1, 3)))
    assert stream.usage == Usage(7, 1, 8)
