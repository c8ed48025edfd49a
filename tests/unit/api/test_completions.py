"""Errors in OpenAI's shape, whatever they come from."""

from typing import Any

import pytest
from werkzeug.exceptions import RequestEntityTooLarge

from api import errors
from api.completions import Completion, as_openai
from ragcore.errors import Conflict, Invalid, Retryable, TooMany
from ragcore.permissions import Forbidden, InvalidToken
from ragcore.questions import Question


def shaped(response: Any) -> Any:
    made = as_openai(response)
    assert made.content_type == "application/json"
    return made


@pytest.mark.parametrize(
    ("error", "status", "kind", "code", "param"),
    [
        (Invalid("no", "/messages/2/content"), 400, "invalid_request_error", None, "messages[2].content"),
        (Invalid("no"), 400, "invalid_request_error", None, None),
        (InvalidToken("no"), 401, "authentication_error", "invalid_api_key", None),
        (Forbidden("no"), 403, "permission_error", None, None),
        (RequestEntityTooLarge("no"), 413, "invalid_request_error", None, None),
        (TooMany("no", 7), 429, "rate_limit_error", "rate_limit_exceeded", None),
        (Retryable("no"), 503, "server_error", None, None),
    ],
)
def test_an_error(error: Any, status: int, kind: str, code: str | None, param: str | None) -> None:
    response = shaped(errors.response_to(error))
    assert response.status_code == status
    assert response.json == {"error": {"message": "no", "type": kind, "param": param, "code": code}}
    assert ("Retry-After" in response.headers) == (status in (429, 503))
    assert "x-should-retry" not in response.headers


def test_a_budget_that_is_spent_is_not_asked_for_again() -> None:
    told = {"status": "429", "title": "Too Many Requests", "detail": "Daily AI budget reached", "code": "budget"}
    response = shaped(errors.document({"errors": [told]}, 429))
    error = {"message": told["detail"], "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}
    assert response.json == {"error": error}
    assert response.headers["x-should-retry"] == "false"


def test_nor_is_an_answer_that_was_stopped() -> None:
    assert shaped(errors.response_to(Conflict("no"))).headers["x-should-retry"] == "false"


def test_what_is_no_error_stays_as_it_is() -> None:
    response = errors.document({"data": []}, 200)
    assert as_openai(response).content_type == errors.JSON_API


def test_an_error_in_the_middle_of_a_stream_is_its_end() -> None:
    events: list[Any] = [{"type": "delta", "text": "Hold"}, None, {"type": "error", "message": "no", "code": "late"}]
    pieces = list(Completion(Question("a", "c", "q"), "ragcore").chunks(events, include_usage=False))
    error = '{"error": {"message": "no", "type": "server_error", "param": null, "code": "late"}}'
    assert pieces[-2:] == [": still here\n\n", f"data: {error}\n\n"]
