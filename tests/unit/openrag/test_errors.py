import json
from collections.abc import Callable
from typing import Any

import pytest
import requests
import responses
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import NotFound, RagcoreError, Refused, Retryable
from ragcore.openrag import Duplicate, Exists, TooLarge
from ragcore.openrag.errors import Problem, Swapping, error_of, upload_error

URL = "http://openrag.test/x"
FILE = "f1"
Answer = Callable[..., requests.Response]


def made(status: int, content: bytes, **headers: str) -> requests.Response:
    response = requests.Response()
    response.status_code, response._content = status, content
    response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return response


@pytest.fixture
def answer() -> Answer:
    """An answer as requests gives it, of a body that is JSON or bytes."""

    def answer(status: int, body: Any = b"", **kwargs: Any) -> requests.Response:
        with responses.RequestsMock() as server:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            server.post(URL, status=status, body=content, **kwargs)
            return requests.post(URL, timeout=5)

    return answer


def content_exists(holder: Any) -> dict[str, Any]:
    return {"detail": "[DOCUMENT_CONTENT_EXISTS]: this content exists", "extra": {"existing_file_id": holder}}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"detail": f"File '{FILE}' already exists in partition p"}, Exists),
        (
            {
                "detail": f"[DOCUMENT_INDEXING_IN_PROGRESS]: File '{FILE}' is being indexed",
                "extra": {"existing_task_id": "t", "task_status_url": "u"},
            },
            Exists,
        ),
        ({"detail": "[DOCUMENT_INDEXING_IN_PROGRESS]: wait"}, Exists),
        (content_exists(FILE), Exists),
        (content_exists("other"), Duplicate),
        (content_exists(FILE.upper()), Duplicate),
        ({"detail": "[EMBEDDER_SWAP_IN_PROGRESS]: wait"}, Swapping),
        ({"detail": "[EMBEDDER_SWAP_IN_PROGRESS]: File 'f1' already exists in partition p"}, Swapping),
        ({"detail": "[SOMETHING_NEW]: File 'f1' already exists in partition p"}, Retryable),
        ({"detail": "[DOCUMENT_CONTENT_EXISTS]: without its holder"}, Retryable),
        (content_exists(None), Retryable),
        (content_exists({"id": "x"}), Retryable),
        ({"detail": "the workspace already exists"}, Retryable),
        ({"detail": "A conflict: see DOCUMENT_CONTENT_EXISTS"}, Retryable),
        ({"detail": ["File 'f1' already exists"]}, Retryable),
        ({}, Retryable),
        ([], Retryable),
        (b"<html>File 'f1' already exists</html>", Retryable),
        (b"", Retryable),
    ],
)
def test_the_409s_of_an_upload(answer: Answer, body: Any, kind: type[RagcoreError]) -> None:
    error = upload_error(answer(409, body), FILE)
    assert type(error) is kind
    if isinstance(error, Duplicate):
        assert error.holder == body["extra"]["existing_file_id"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (413, TooLarge),
        (415, Refused),
        (422, Refused),
        (404, NotFound),
        (401, Retryable),
        (403, Retryable),
        (405, Retryable),
        (408, Retryable),
        (409, Retryable),
        (425, Retryable),
        (429, Retryable),
        (500, Retryable),
        (502, Retryable),
        (503, Retryable),
        (504, Retryable),
        (418, Retryable),
    ],
)
@pytest.mark.parametrize("body", [{"detail": "no"}, b"<html>no</html>"], ids=["JSON", "HTML"])
def test_what_a_status_means(answer: Answer, status: int, kind: type[RagcoreError], body: Any) -> None:
    if (status, body) == (404, b"<html>no</html>"):
        kind = Retryable  # not openRAG's: it says nothing about what was asked for
    for error in (error_of(answer(status, body)), upload_error(answer(status, body), FILE)):
        assert type(error) is kind
        assert str(status) in str(error)
        assert "<html>" not in str(error)


def test_only_an_upload_reads_the_words_of_a_409(answer: Answer) -> None:
    assert type(error_of(answer(409, content_exists("other")))) is Retryable


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"detail": "no"}, Problem(409, "no")),
        ({"detail": "[A_CODE]: no", "extra": {"a": 1}}, Problem(409, "no", "A_CODE", {"a": 1})),
        ({"detail": "[A_CODE]:"}, Problem(409, "", "A_CODE")),
        ({"detail": "[A_CODE]: two\nlines"}, Problem(409, "two\nlines", "A_CODE")),
        ({"detail": "see [A_CODE]: no"}, Problem(409, "see [A_CODE]: no")),
        ({"detail": [{"loc": ["body", "id"], "msg": "bad", "input": "x"}]}, Problem(409, "body.id: bad")),
        ({"detail": [{"loc": ["a", 0], "msg": "bad"}, {"msg": "no"}, "x"]}, Problem(409, "a.0: bad; : no")),
        ({"detail": {"msg": "bad"}}, Problem(409)),
        ({"detail": None}, Problem(409)),
        ({"detail": "no", "extra": "text"}, Problem(409, "no")),
        ({"detail": "x" * 1000}, Problem(409, "x" * 500)),
        ([], Problem(409)),
        ("text", Problem(409)),
        (None, Problem(409)),
        (b"<html>", Problem(409)),
        (b"", Problem(409)),
        (b'{"detail": "\xff"}', Problem(409, "\ufffd")),
        (b'{"detail": "no"}' + b" " * 70_000, Problem(409, "no")),
    ],
)
def test_the_body_of_an_error(answer: Answer, body: Any, problem: Problem) -> None:
    assert Problem.of(answer(409, body)) == problem


def test_the_content_type_is_not_believed(answer: Answer) -> None:
    assert Problem.of(answer(409, {"detail": "no"}, content_type="text/html")).detail == "no"
    assert Problem.of(answer(409, b"no", content_type="application/json")).detail == ""


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3.0), ("0", 0.0), ("", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("1.5", None)],
)
def test_when_to_come_back(answer: Answer, header: str, seconds: float | None) -> None:
    error = error_of(answer(429, {"detail": "quota"}, headers={"Retry-After": header}))
    assert isinstance(error, Retryable)
    assert error.retry_after == seconds


@given(st.integers(400, 599), st.binary(max_size=60) | st.just(b'{"detail": [[]], "extra": []}'))
def test_any_body_makes_an_error(status: int, content: bytes) -> None:
    for error in (error_of(made(status, content)), upload_error(made(status, content), FILE)):
        assert isinstance(error, RagcoreError)
        assert str(error)


def test_a_body_too_deep_to_read() -> None:
    assert isinstance(error_of(made(502, b"[" * 60_000)), Retryable)
