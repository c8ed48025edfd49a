"""Chat completions: what is asked, and how the pieces of an answer go out."""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from deploy.sandbox.calls import Call
from deploy.sandbox.errors import ApiError
from deploy.sandbox.llm import is_finishing
from deploy.sandbox.pieces import Chunk, Cut, Delta, End, Failure, Hold, Json, Pause, Piece, Pieces, Raw
from deploy.sandbox.wire import ClientGone, Connection

DONE = b"data: [DONE]\n\n"


@dataclass
class Head:
    """What every chunk of one completion has in common. `legacy` makes `extra` a string."""

    model: str | None
    sources: list[Json]
    legacy: bool
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self.object("chat.completion.chunk", [choice])

    def object(self, kind: str, choices: list[Json]) -> Json:
        head = {"id": self.id, "object": kind, "created": self.created, "model": self.model}
        return {**head, "choices": choices}

    def whole_extra(self, more: Json | None = None) -> Json | str:
        whole = {"sources": self.sources, **(more or {})}
        return json.dumps(whole) if self.legacy else whole

    def empty_extra(self) -> Json | str:
        return "" if self.legacy else {}


def event(chunk: Json) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


class Stream:
    """Server-sent events of one answer; tells the `call` when the client closed early."""

    def __init__(self, head: Head, connection: Connection, call: Call) -> None:
        self._head = head
        self._connection = connection
        self._call = call
        self._finished = False

    def events(self, pieces: Pieces) -> Iterator[bytes]:
        try:
            with closing(pieces):
                for piece in pieces:
                    yield from self._write(piece)
                    if isinstance(piece, (Failure, Cut, End)):
                        return
        except (ClientGone, GeneratorExit):
            self._call.closed_early = True

    def _write(self, piece: Piece) -> Iterator[bytes]:
        match piece:
            case Delta(delta):
                yield event({**self._head.chunk(delta), "extra": self._head.empty_extra()})
            case Chunk(chunk):
                yield self._chunk(chunk)
            case Raw(content):
                yield content
            case Pause(seconds):
                self._connection.wait(seconds)
            case Hold(is_over):
                self._connection.wait_until(is_over)
            case Failure(error):
                yield event({"error": {"type": "server_error", "param": None, "code": None, **error}})
                yield DONE
            case Cut():
                self._connection.cut()
            case End():
                yield from self._end(piece)

    def _chunk(self, chunk: Json) -> bytes:
        last = is_finishing(chunk) or chunk.get("choices") == []
        self._finished = self._finished or last
        return event({"extra": self._head.whole_extra() if last else self._head.empty_extra(), **chunk})

    def _end(self, end: End) -> Iterator[bytes]:
        if end.finish and not self._finished:
            yield event({**self._head.chunk({}, end.finish), "extra": self._head.whole_extra(end.extra)})
        if end.usage:
            usage = self._head.object("chat.completion.chunk", [])
            yield event({**usage, "usage": end.usage, "extra": self._head.whole_extra(end.extra)})
        if end.done:
            yield DONE


@dataclass
class Joined:
    """The deltas of an answer, put together for a call that does not stream."""

    content: str = ""
    reasoning: str = ""
    tool_calls: dict[int, Json] = field(default_factory=dict)
    finish: str | None = None
    usage: Json | None = None
    extra: Json = field(default_factory=dict)

    def add(self, delta: Json) -> None:
        self.content += delta.get("content") or ""
        self.reasoning += delta.get("reasoning_content") or delta.get("reasoning") or ""
        for position, fragment in enumerate(delta.get("tool_calls") or []):
            self._add_call(fragment.get("index", position), fragment)

    def add_chunk(self, chunk: Json) -> None:
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or []:
            self.add(choice.get("delta") or {})
            self.finish = choice.get("finish_reason") or self.finish

    def message(self) -> Json:
        message: Json = {"role": "assistant", "content": self.content or None}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        message["tool_calls"] = list(self.tool_calls.values()) or None
        return message

    def _add_call(self, index: int, fragment: Json) -> None:
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = self.tool_calls.setdefault(index, empty)
        function = fragment.get("function") or {}
        call["id"] = fragment.get("id") or call["id"]
        call["function"]["name"] = function.get("name") or call["function"]["name"]
        arguments = function.get("arguments") or ""
        call["function"]["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)


def join(head: Head, connection: Connection, pieces: Pieces) -> Json:
    """The OpenAI object of a whole answer. Raises a 500 when the LLM failed in the middle."""
    joined = Joined()
    for piece in pieces:
        match piece:
            case Delta(delta):
                joined.add(delta)
            case Chunk(chunk):
                joined.add_chunk(chunk)
            case Pause(seconds):
                connection.wait(seconds)
            case Hold(is_over):
                connection.wait_until(is_over)
            case Failure(error):
                raise ApiError(500, str(error.get("message") or error), "LLM_ERROR")
            case Cut():
                connection.cut()
            case End():
                joined.finish = joined.finish or piece.finish
                joined.usage = joined.usage or piece.usage
                joined.extra = piece.extra
    choice = {"index": 0, "message": joined.message(), "logprobs": None, "finish_reason": joined.finish}
    whole = head.object("chat.completion", [choice])
    return {**whole, "usage": joined.usage, "extra": head.whole_extra(joined.extra)}


def tokens_of(value: Any) -> int:
    """A rough count: 4 characters of JSON are a token."""
    return len(json.dumps(value, ensure_ascii=False)) // 4
