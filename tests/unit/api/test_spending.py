"""The tokens of a completion that is passed on, read from what goes by."""

import json
from contextlib import ExitStack

import pytest
from flask import Response

from api.spending import Passing
from ragcore.budgets.spending import Call

USAGE = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
WHOLE = json.dumps({"choices": [{"message": {"content": "Red."}}], "usage": USAGE}).encode()
STREAM = b"".join(
    f"data: {data}\n\n".encode()
    for data in (json.dumps({"choices": [{"delta": {"content": "Red."}}], "usage": USAGE}), "[DONE]")
)


@pytest.mark.parametrize(
    ("content_type", "body", "status", "tokens"),
    [
        ("application/json", WHOLE, 200, 10),
        ("text/event-stream", STREAM, 200, 10),
        ("text/event-stream; charset=utf-8", STREAM, 200, 10),
        ("application/json", WHOLE, 400, 0),
        ("application/json", b"no completion", 200, 0),
    ],
)
def test_the_answer_tells_what_it_is(content_type: str, body: bytes, status: int, tokens: int) -> None:
    """Not the request: openRAG takes `"stream": "false"` for false."""
    call = Call(400)
    pieces = [body[:20], body[20:]]
    response = Passing(call, ExitStack()).counted(Response(iter(pieces), status, content_type=content_type))
    assert b"".join(response.response) == body  # type: ignore[arg-type]
    assert call.tokens == tokens
