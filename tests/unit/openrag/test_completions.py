import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragcore.errors import Retryable
from ragcore.openrag import sse
from ragcore.openrag.completions import Chunk, Usage, chunk_of_answer, chunks_of_stream

SOURCE = {"source_type": "web", "url": "u"}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just('{"sources": 3}')
KEYS = ("choices", "delta", "message", "content", "reasoning", "reasoning_content", "tool_calls", "finish_reason",
        "extra", "sources", "truncated", "error", "usage", "total_tokens")  # fmt: skip
shapes = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(KEYS), below, max_size=4),
    max_leaves=12,
)
bodies = st.dictionaries(st.sampled_from(KEYS), shapes, max_size=4) | shapes


def stream(*bodies: Any, end: bytes = b"data: [DONE]\n\n") -> list[Chunk]:
    return list(chunks_of_stream([b"data: " + json.dumps(body).encode() + b"\n\n" for body in bodies] + [end]))


def chunk(body: Any) -> Chunk:
    (first, last) = stream(body)
    assert last == Chunk(done=True)
    return first


def delta(**fields: Any) -> Chunk:
    return chunk({"choices": [{"delta": fields}]})


@given(st.lists(bodies, max_size=4))
def test_a_chunk_of_any_shape_is_read(bodies: list[Any]) -> None:
    chunks = stream(*bodies)
    assert chunks.pop().done
    assert len(chunks) == sum(isinstance(body, dict) for body in bodies)
    for read in chunks:
        assert all(isinstance(text, str) for text in (read.content, read.reasoning, read.finish_reason, read.error))
        assert all(isinstance(item, dict) for item in (*read.tool_calls, *read.sources))
        assert isinstance(read.truncated, bool)
        (read.content + read.reasoning + read.finish_reason).encode()


@given(bodies)
@example({"choices": float("inf")})
def test_an_answer_of_any_shape_is_read_or_refused(body: Any) -> None:
    text = json.dumps(body)
    try:
        read = chunk_of_answer(text.encode())
    except Retryable:
        body = json.loads(text, parse_constant=lambda name: None)  # Infinity is no JSON
        assert not isinstance(body, dict) or not (body.get("choices") or body.get("error"))
    else:
        assert isinstance(read.content, str)


@given(st.binary(max_size=40))
def test_an_answer_of_any_bytes_is_read_or_refused(content: bytes) -> None:
    with pytest.raises(Retryable):
        chunk_of_answer(content)


@given(st.text(max_size=30))
def test_a_text_comes_through_whole(text: str) -> None:
    assert delta(content=text).content == text


def test_what_a_chunk_says() -> None:
    read = chunk(
        {
            "choices": [
                {
                    "delta": {"content": "a", "reasoning_content": "b", "tool_calls": [{"index": 0}, None]},
                    "finish_reason": "stop",
                }
            ],
            "extra": {"sources": [SOURCE, "x"], "truncated": True},
        }
    )
    assert read == Chunk("a", "b", ({"index": 0},), "stop", (SOURCE,), True)


@pytest.mark.parametrize(
    ("fields", "reasoning"),
    [
        ({"reasoning_content": "a"}, "a"),
        ({"reasoning": "b"}, "b"),
        ({"reasoning_content": "a", "reasoning": "b"}, "a"),
        ({"reasoning_content": None, "reasoning": "b"}, "b"),
        ({"reasoning_content": "", "reasoning": "b"}, "b"),
        ({"reasoning_content": ["a"]}, ""),
    ],
)
def test_reasoning_has_two_names(fields: dict[str, Any], reasoning: str) -> None:
    assert delta(**fields).reasoning == reasoning


@pytest.mark.parametrize(
    "extra",
    [
        {"sources": [SOURCE]},
        '{"sources": [{"source_type": "web", "url": "u"}]}',
    ],
)
def test_extra_is_an_object_or_json_of_one(extra: Any) -> None:
    assert chunk({"choices": [], "extra": extra}).sources == (SOURCE,)


@pytest.mark.parametrize("extra", ["", "{", "[]", "null", None, 3, [], {"sources": None}, {"sources": {}}])
def test_an_extra_that_says_nothing(extra: Any) -> None:
    assert chunk({"choices": [], "extra": extra}) == Chunk()


@pytest.mark.parametrize(
    ("extra", "truncated"),
    [({"truncated": True}, True), ({"truncated": False}, False), ({"truncated": "no"}, False),
     ('{"truncated": true}', True)],
)  # fmt: skip
def test_a_stream_that_broke_off_behind_openrag(extra: Any, truncated: bool) -> None:
    assert chunk({"choices": [], "extra": extra}).truncated is truncated


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"message": "no", "type": "x"}, "no"),
        ("no", "no"),
        ({"code": 3}, "the LLM failed"),
        ({"message": None}, "the LLM failed"),
        ({"message": 3}, "3"),
        (["x"], "['x']"),
    ],
)
def test_an_error_chunk(error: Any, message: str) -> None:
    assert chunk({"error": error, "choices": [{"delta": {"content": "a"}}]}) == Chunk(error=message)


def test_an_error_can_come_first_or_alone() -> None:
    assert [c.error for c in stream({"error": {"message": "no"}}, end=b"")] == ["no"]


def test_a_final_chunk_with_empty_choices() -> None:
    assert chunk({"choices": [], "usage": {"total_tokens": 3}}) == Chunk(usage=Usage(0, 0, 3))


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert delta(content="a\ud83d").content == "a\ufffd"
    assert delta(content="\ud83d\ude00").content == "😀"


@pytest.mark.parametrize(
    "end", [b"data: [DONE]\n\n", b"data:[DONE]\r\n\r\n", b"data: [DONE]", b"data:  [DONE] \n\ndata: {}\n\n"]
)
def test_the_mark_of_the_end(end: bytes) -> None:
    assert stream({"choices": [{"delta": {"content": "a"}}]}, end=end) == [Chunk("a"), Chunk(done=True)]


def test_the_mark_of_the_end_inside_a_text_ends_nothing() -> None:
    arguments = {"function": {"arguments": "[DONE]\n\ndata: [DONE]\n\n"}}
    assert delta(content="[DONE]", tool_calls=[arguments]) == Chunk("[DONE]", tool_calls=(arguments,))


def test_a_stream_that_ends_without_its_mark() -> None:
    assert stream({"choices": [{"delta": {"content": "a"}}]}, end=b"") == [Chunk("a")]


@pytest.mark.parametrize("data", [b"{", b"null", b"3", b"[]", b'"x"', b"<html>", b""])
def test_what_is_no_chunk_is_left_out(data: bytes) -> None:
    assert list(chunks_of_stream([b"data: " + data + b"\n\n"])) == []


def test_nothing_is_read_after_the_mark_of_the_end() -> None:
    def pieces():
        yield b"data: [DONE]\n\n"
        pytest.fail("the stream was read on")

    assert list(chunks_of_stream(pieces())) == [Chunk(done=True)]


def test_an_answer_that_was_not_streamed() -> None:
    body = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "extra": '{"sources": []}'}
    assert chunk_of_answer(json.dumps(body).encode()) == Chunk("a", finish_reason="stop", done=True)
    assert chunk_of_answer(b'{"error": {"message": "no"}}').error == "no"


@pytest.mark.parametrize("content", [b"", b"<html>502</html>", b"{}", b"[]", b"null", b'{"choices": []}', b"\xff"])
def test_an_answer_that_is_no_completion(content: bytes) -> None:
    with pytest.raises(Retryable):
        chunk_of_answer(content)


def test_a_chunk_too_deep_to_read_is_left_out() -> None:
    assert list(chunks_of_stream([b"data: " + b"[" * 100_000 + b"\n\n", b"data: {}\n\n"])) == [Chunk()]


def test_an_answer_too_deep_to_read_is_refused() -> None:
    with pytest.raises(Retryable):
        chunk_of_answer(b'{"choices":' + b"[" * 100_000)


def test_a_source_is_valid_json() -> None:
    read = list(chunks_of_stream([b'data: {"extra": {"sources": [{"page": NaN}]}}\n\n']))
    json.dumps([c.sources for c in read], allow_nan=False)


def test_an_event_that_is_too_large_may_pass_at_another_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 100)
    with pytest.raises(Retryable):
        list(chunks_of_stream([b"data: " + b"x" * 200]))


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 6}, Usage(3, 2, 6)),
        ({"prompt_tokens": 3, "completion_tokens": 2}, Usage(3, 2, 5)),
        ({"prompt_tokens": -3, "completion_tokens": True, "total_tokens": "6"}, Usage()),
        ({"prompt_tokens": 1 << 80, "completion_tokens": 1.5}, Usage()),
        (None, Usage()),
        ([], Usage()),
    ],
)
def test_the_tokens_that_the_llm_counted(usage: Any, counted: Usage) -> None:
    assert chunk({"choices": [], "usage": usage}).usage == counted
    assert chunk_of_answer(json.dumps({"choices": [{}], "usage": usage}).encode()).usage == counted
    assert bool(counted) is (counted.total_tokens > 0)
