"""Chat completions as openRAG gives them, streamed or not (`contracts/openrag.md`, Chat)."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ragcore.errors import Retryable
from ragcore.openrag import sse
from ragcore.units import well_formed

Json = dict[str, Any]

_JSON = json.JSONDecoder(parse_constant=lambda name: None)  # NaN is no JSON, and no client could read it

LONGEST_ERROR = 500  # characters: it is for a line of the log
MOST_TOKENS = 1 << 24  # of a completion: a count beyond is none


@dataclass(frozen=True)
class Usage:
    """Tokens, as the LLM itself counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0

    @classmethod
    def parse(cls, value: Any) -> "Usage":
        """None at all where there are no figures. A total that is missing is the sum."""
        given = _dict(value)
        prompt, completion, total = (_count(given.get(name)) for name in ("prompt_tokens", "completion_tokens",
                                                                          "total_tokens"))  # fmt: skip
        return cls(prompt, completion, total or prompt + completion)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.total_tokens + other.total_tokens,
        )

    def __bool__(self) -> bool:
        return self.total_tokens > 0


@dataclass(frozen=True)
class Chunk:
    """What one chunk of a completion says. An unstreamed answer is one chunk that holds everything."""

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[Json, ...] = ()
    finish_reason: str = ""
    sources: tuple[Json, ...] = ()
    truncated: bool = False
    error: str = ""
    done: bool = False  # the stream's own mark of its end
    usage: Usage = Usage()


def chunks_of_stream(pieces: Iterable[bytes]) -> Iterator[Chunk]:
    """The chunks of a stream up to `[DONE]` or its end. What is no chunk is left out."""
    for data in sse.data_of(pieces):
        if data.strip() == "[DONE]":
            yield Chunk(done=True)
            return
        if (body := _object(data)) is not None:
            yield _chunk(body, "delta")


def chunk_of_answer(content: bytes) -> Chunk:
    """It is whole, whatever its `finish_reason`. Raises Retryable when it is not a completion."""
    body = _object(content.decode("utf-8", errors="replace"))
    if body is None or not (body.get("choices") or body.get("error")):
        raise Retryable("openRAG gave an answer that is no completion")
    return replace(_chunk(body, "message"), done=True)


def _chunk(body: Json, part: str) -> Chunk:
    if error := body.get("error"):
        message = error.get("message") if isinstance(error, dict) else error
        return Chunk(error=str(message or "the LLM failed")[:LONGEST_ERROR])
    choice = _first(body.get("choices"))
    delta = _dict(choice.get(part))
    extra = _extra(body.get("extra"))
    return Chunk(
        content=_text(delta.get("content")),
        reasoning=_text(delta.get("reasoning_content")) or _text(delta.get("reasoning")),
        tool_calls=tuple(_dicts(delta.get("tool_calls"))),
        finish_reason=_text(choice.get("finish_reason")),
        sources=tuple(_dicts(extra.get("sources"))),
        truncated=extra.get("truncated") is True,
        usage=Usage.parse(body.get("usage")),
    )


def _extra(value: Any) -> Json:
    """An object since openRAG 2.3, before that a JSON-encoded string, the empty one included."""
    return _object(value) or {} if isinstance(value, str) else _dict(value)


def _object(text: str) -> Json | None:
    try:
        body = _JSON.decode(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _first(value: Any) -> Json:
    return next(iter(_dicts(value)), {})


def _text(value: Any) -> str:
    return well_formed(value) if isinstance(value, str) else ""
