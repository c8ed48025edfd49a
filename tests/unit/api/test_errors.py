import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.exceptions import RequestEntityTooLarge

from api import errors
from ragcore.budgets import Spent
from ragcore.errors import Conflict, Invalid, NotFound, RagcoreError, Refused, Retryable
from ragcore.permissions import Forbidden, InvalidToken
from ragcore.turns import Taken
from ragcore.units import isoformat

Raising = Callable[[Exception], FlaskClient]


@pytest.fixture
def raising() -> Raising:
    """A client of an app whose only route raises that error."""

    def client(error: Exception) -> FlaskClient:
        app = Flask(__name__)
        errors.init_app(app)

        @app.get("/x")
        def x() -> str:
            raise error

        return app.test_client()

    return client


def the_error(response: Any) -> dict[str, Any]:
    assert response.content_type == "application/vnd.api+json"
    (error,) = json.loads(response.data)["errors"]
    assert error["status"] == str(response.status_code)
    return error


@pytest.mark.parametrize(
    ("error", "status", "title"),
    [
        (Invalid("no", "/q"), 400, "Bad Request"),
        (InvalidToken("no"), 401, "Unauthorized"),
        (Forbidden("no"), 403, "Forbidden"),
        (NotFound("no"), 404, "Not Found"),
        (Conflict("no"), 409, "Conflict"),
        (Retryable("no"), 503, "Service Unavailable"),
        (Refused("no"), 500, "Internal Server Error"),
        (Taken("no"), 500, "Internal Server Error"),
        (RagcoreError("no"), 500, "Internal Server Error"),
        (RequestEntityTooLarge("no"), 413, "Request Entity Too Large"),
    ],
)
def test_an_error_becomes_a_status(raising: Raising, error: Exception, status: int, title: str) -> None:
    response = raising(error).get("/x")
    assert response.status_code == status
    told = the_error(response)
    assert (told["title"], told["detail"]) == (title, "no")


@pytest.mark.parametrize(("pointer", "source"), [("/q", {"pointer": "/q"}), ("", {"pointer": ""})])
def test_the_pointer_of_a_bad_input(raising: Raising, pointer: str, source: dict[str, str]) -> None:
    assert the_error(raising(Invalid("no", pointer)).get("/x"))["source"] == source


def test_only_a_bad_input_has_a_source(raising: Raising) -> None:
    assert "source" not in the_error(raising(NotFound("no")).get("/x"))


@pytest.mark.parametrize(("after", "header"), [(None, "5"), (7.9, "8"), (30, "30")])
def test_when_to_come_back(raising: Raising, after: float | None, header: str) -> None:
    assert raising(Retryable("no", after)).get("/x").headers["Retry-After"] == header


def test_who_has_no_token_is_told_how_to_give_one(raising: Raising) -> None:
    assert raising(InvalidToken("no")).get("/x").headers["WWW-Authenticate"].startswith("Bearer")
    assert "WWW-Authenticate" not in raising(Forbidden("no")).get("/x").headers


def test_an_unexpected_error_tells_nothing(raising: Raising, caplog: pytest.LogCaptureFixture) -> None:
    response = raising(KeyError("s3cret")).get("/x")
    assert response.status_code == 500
    assert the_error(response)["detail"]
    assert b"s3cret" not in response.data
    assert "s3cret" in caplog.text


def test_errors_of_the_routing_have_the_same_shape(raising: Raising) -> None:
    client = raising(NotFound("no"))
    assert the_error(client.get("/nowhere"))["title"] == "Not Found"
    response = client.post("/x")
    assert the_error(response)["title"] == "Method Not Allowed"
    assert "GET" in response.headers["Allow"]


def test_a_document_is_json_api() -> None:
    app = Flask(__name__)
    with app.app_context():
        response = errors.document({"data": {"name": "é"}}, 202)
    assert (response.status_code, response.content_type) == (202, "application/vnd.api+json")
    assert json.loads(response.data) == {"data": {"name": "é"}}


def test_of_a_spent_budget_it_is_told_until_when(raising: Raising) -> None:
    reset_at = isoformat(datetime.now(UTC) + timedelta(hours=2))
    response = raising(Spent("free", reset_at, "https://example.net/")).get("/x")
    told = the_error(response)
    assert (response.status_code, told["code"], told["detail"]) == (429, "budget", "Daily AI budget reached")
    assert told["meta"] == {"resetAt": reset_at, "plan": "free", "upgradeUrl": "https://example.net/"}
    assert 7190 < int(response.headers["Retry-After"]) <= 7200
