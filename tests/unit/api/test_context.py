import base64
import io
import json
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.test import create_environ

from api.context import json_body, token
from ragcore.errors import Invalid

APP = Flask(__name__)


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("header", "query", "expected"),
    [
        ("Bearer abc.def.ghi", "", "abc.def.ghi"),
        ("bearer abc", "", "abc"),
        (basic("", "abc"), "", "abc"),
        (basic("user", "a:b"), "", "a:b"),
        ("", "?bearer_token=abc", "abc"),
        ("Bearer abc", "?bearer_token=other", "abc"),
        ("", "", ""),
        ("Bearer ", "", ""),
        ("Bearer", "", ""),
        ("abc", "", ""),
        ("Basic !!!", "", ""),
        ("Digest abc", "", ""),
    ],
)
def test_where_a_token_is_given(header: str, query: str, expected: str) -> None:
    with APP.test_request_context(f"/x{query}", headers={"Authorization": header} if header else {}):
        assert token() == expected


def body_of(data: bytes, content_type: str = "application/json") -> Any:
    with APP.test_request_context("/x", method="POST", data=data, content_type=content_type):
        return json_body()


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/x-www-form-urlencoded", "text/plain", "", "multipart/form-data; boundary=x"],
)
def test_a_body_is_json_whatever_its_content_type_says(content_type: str) -> None:
    assert body_of(b'{"q": "Why?"}', content_type) == {"q": "Why?"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"q=Why",
        b"{",
        b"{'q': 'x'}",
        b'{"q": "x"} trailing',
        b'{"q": "\xff"}',
        b'{"q": NaN}',
        b'{"q": Infinity}',
        b'{"q": -Infinity}',
        rb'{"q": "\ud800"}',
        rb'{"\udfff": 1}',
        rb'{"q": ["\ud83dx"]}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"9" * 5000,
        b'{"q": "a\nb"}',
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda data: data[:12].decode(errors="replace"),
)
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(Invalid) as caught:
        body_of(data)
    assert caught.value.pointer == ""


@pytest.mark.parametrize("has_length", [True, False], ids=["with its length", "in chunks"])
@pytest.mark.parametrize("guard", [None, 4, 10])
def test_a_body_is_bounded(has_length: bool, guard: int | None) -> None:
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = guard
    largest = min(6, guard or 6)

    def read(size: int) -> Any:
        environ = {"REQUEST_METHOD": "POST", "wsgi.input": io.BytesIO(b"1" * size), "wsgi.input_terminated": True}
        with app.request_context(create_environ() | environ | ({"CONTENT_LENGTH": str(size)} if has_length else {})):
            return json_body(6)

    assert read(largest) == int("1" * largest)
    for size in (largest + 1, largest + 2):
        with pytest.raises(RequestEntityTooLarge):
            read(size)


def test_a_whole_surrogate_pair_is_text() -> None:
    assert body_of(rb'{"q": "\ud83d\ude00"}') == {"q": "😀"}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=6,
)


@given(values, st.booleans())
def test_any_json_is_read(value: Any, ascii_only: bool) -> None:
    assert body_of(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=30))
def test_any_bytes_are_json_or_invalid(data: bytes) -> None:
    try:
        value = body_of(data)
    except Invalid:
        return
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
