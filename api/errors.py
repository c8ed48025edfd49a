"""Errors as JSON:API documents: the one place where an error becomes a status."""

import logging
import math
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, json
from werkzeug.exceptions import HTTPException

from ragcore.budgets import Spent
from ragcore.errors import (
    Conflict,
    Failed,
    Full,
    Invalid,
    Mismatch,
    NotFound,
    RagcoreError,
    Retryable,
    TooMany,
    Unprocessable,
)
from ragcore.permissions import Forbidden, InvalidToken
from ragcore.store import Rejected

log = logging.getLogger(__name__)

JSON_API = "application/vnd.api+json"
_STATUS: dict[type[RagcoreError], int] = {
    Unprocessable: 422,  # before Invalid, which it is too
    Invalid: 400,
    Rejected: 400,
    InvalidToken: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    Mismatch: 412,
    TooMany: 429,
    Failed: 502,
    Full: 507,  # before Retryable, which it is too
    Retryable: 503,
}
_RETRY_AFTER = 5  # seconds
_SAID = {
    404: "there is no such route",
    405: "this route does not take the method",
    413: "the body is larger than the server takes",
}


def init_app(app: Flask) -> None:
    app.register_error_handler(RagcoreError, response_to)
    app.register_error_handler(HTTPException, response_to)
    app.register_error_handler(Exception, _unexpected)


def document(data: Any, status: int) -> Response:
    return Response(f"{json.dumps(data)}\n", status, content_type=JSON_API)


def _errors(status: int, detail: str, **more: Any) -> Response:
    error = {"status": str(status), "title": HTTPStatus(status).phrase, "detail": detail}
    return document({"errors": [error | more]}, status)


def response_to(error: RagcoreError | HTTPException) -> Response:
    return _of_flask(error) if isinstance(error, HTTPException) else _ours(error)


def _ours(error: RagcoreError) -> Response:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    if status >= 500:
        log.warning("%d: %s", status, error)
    response = _errors(status, str(error), **_more(error))
    if isinstance(error, Retryable | TooMany):
        response.headers["Retry-After"] = str(math.ceil(error.retry_after or _RETRY_AFTER))
    if isinstance(error, InvalidToken):
        response.headers["WWW-Authenticate"] = 'Bearer realm="ragcore"'
    return response


def _more(error: RagcoreError) -> dict[str, Any]:
    more: dict[str, Any] = {"code": error.code} if error.code else {}
    match error:
        case Invalid():
            return more | {"source": {"pointer": error.pointer}}
        case Spent():
            return more | {"meta": error.fields()}
    return more


def _of_flask(error: HTTPException) -> Response:
    status = error.code or 500
    said = _SAID.get(status) if error.description == type(error).description else None
    response = _errors(status, said or error.description or "")
    for name, value in error.get_headers():
        if name in ("Allow", "WWW-Authenticate"):
            response.headers[name] = value
    return response


def _unexpected(error: Exception) -> Response:
    log.exception("unexpected error", exc_info=error)
    return _errors(500, "something went wrong on our side")
