"""Answers, errors and models as OpenAI's API tells them; what it does not know stands in fields of their own."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from flask import Response

from api import errors
from api.answers import whole_of
from ragcore.errors import RagcoreError
from ragcore.questions import Question
from ragcore.v1.models import Model

Json = dict[str, Any]

DONE = "data: [DONE]\n\n"
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_SPENT = "insufficient_quota"  # as OpenAI calls it, type and code
_PARAMS = {"model_not_found": "model"}  # by the codes of errors that point at no field


@dataclass(frozen=True)
class Completion:
    """How the answer to a question is told: whole, or in chunks."""

    question: Question
    model: str
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, answer: Json) -> Json:
        message = {"role": "assistant", "content": answer["answer"], "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
        return self._object("chat.completion", [choice], usage=answer["usage"], sources=answer["sources"])

    def chunks(self, events: Iterable[Json | None], include_usage: bool) -> Iterator[str]:
        """As server-sent events; None is a while without any. An error is the last one then."""
        counted = {"usage": None} if include_usage else {}
        sources: list[Json] = []
        yield self._chunk({"role": "assistant", "content": "", "refusal": None}, **counted)
        for event in events:
            match event:
                case None:
                    yield ": still here\n\n"
                case {"type": "delta", "text": text}:
                    yield self._chunk({"content": text}, **counted)
                case {"type": "sources", "sources": sources}:
                    pass
                case {"type": "error"}:
                    yield _data(_error_in(event))
                    return
                case {"type": "saved", "usage": usage}:
                    yield self._chunk({}, _finish_reason(event), sources=sources, **counted)
                    if include_usage:
                        yield _data(self._object("chat.completion.chunk", [], usage=usage))
        yield DONE

    def _chunk(self, delta: Json, finish_reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _data(self._object("chat.completion.chunk", [choice], **more))

    def _object(self, kind: str, choices: list[Json], **more: Any) -> Json:
        about = {"id": f"chatcmpl-{self.question.id}", "object": kind, "created": self.created, "model": self.model}
        return {**about, "choices": choices, **more, "conversation_id": self.question.conversation_id}


def model_list(models: Iterable[Model], owner: str) -> Json:
    """Nobody asks when a model was made, and OpenAI's clients want a number."""
    data = [
        {"id": model.id, "object": "model", "created": 0, "owned_by": owner, "name": model.name} for model in models
    ]
    return {"object": "list", "data": data}


def as_openai(response: Response) -> Response:
    """A response that is a JSON:API document of errors, in OpenAI's shape."""
    if response.content_type != errors.JSON_API or response.status_code < 400:
        return response
    (told,) = json.loads(response.get_data())["errors"]
    error = _error(response.status_code, told)
    if response.status_code == 409 or error["code"] == _SPENT:
        response.headers["x-should-retry"] = "false"  # their clients would ask again at once, twice
    response.set_data(f"{json.dumps({'error': error})}\n")
    response.content_type = "application/json"
    return response


def _error(status: int, told: Json) -> Json:
    code = told.get("code") or _CODES.get(status)
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    if code == "budget":
        kind = code = _SPENT
    param = _param(told.get("source", {}).get("pointer", "")) or _PARAMS.get(code)
    return {"message": told["detail"], "type": kind, "param": param, "code": code}


def _param(pointer: str) -> str:
    """`messages[0].content`, of `/messages/0/content`."""
    parts = (f"[{part}]" if part.isdecimal() else f".{part}" for part in pointer.split("/")[1:])
    return "".join(parts).removeprefix(".")


def _error_in(event: Json) -> Json:
    """In the middle of a stream: what it would be as a response."""
    try:
        whole_of([event])
    except RagcoreError as error:
        body: Json = json.loads(as_openai(errors.response_to(error)).get_data())
        return body
    raise AssertionError("unreachable")


def _finish_reason(told: Json) -> str:
    return "length" if told.get("truncated") else "stop"


def _data(body: Json) -> str:
    return f"data: {json.dumps(body)}\n\n"
