"""Odd answers of a document database, or of what stands before it."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import pytest
import requests
import responses
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import Conflict, NotFound, RagcoreError, Retryable, Unanswered
from ragcore.store import GLOBAL, Store
from ragcore.store.couch import _segment, translate
from ragcore.wire import Answer, Session, Timeouts

URL = "http://db.test:5984"
TYPE = "io.cozy.files"
DATABASE = f"{URL}/global%2Fio-cozy-files"
HTML = "<html><body>502 Bad Gateway</body></html>"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[responses.RequestsMock]:
    """What the session sends is sent by requests, which is given these answers."""

    def request(self: Session, method: str, url: str, *, data: bytes | None = None, timeout: Timeouts) -> Answer:
        lines = dict(line.split(": ", 1) for line in self._lines.splitlines())
        response = requests.request(method, url, data=data, headers=lines, timeout=timeout)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, headers, response.content)

    monkeypatch.setattr(Session, "request", request)
    with responses.RequestsMock() as server:
        yield server


@pytest.fixture
def store() -> Store:
    return Store(f"http://admin:s3cret@{URL.removeprefix('http://')}/", lambda domain, event: None)


CALLS: dict[str, Callable[[Store], object]] = {
    "info": lambda s: s.server.info(),
    "get": lambda s: s.get(GLOBAL, TYPE, "d"),
    "save": lambda s: s.save(GLOBAL, TYPE, {"_id": "d"}),
    "save_all": lambda s: s.save_all(GLOBAL, TYPE, [{"_id": "d"}]),
    "delete": lambda s: s.delete(GLOBAL, TYPE, {"_id": "d", "_rev": "1-a"}),
    "get_many": lambda s: s.get_many(GLOBAL, TYPE, ["d"]),
    "all": lambda s: list(s.all(GLOBAL, TYPE)),
    "find": lambda s: s.find(GLOBAL, TYPE, {}),
    "view": lambda s: s.view(GLOBAL, TYPE, "v", "k"),
    "changes": lambda s: s.changes(GLOBAL, TYPE, 0, 10),
    "create": lambda s: s.server.create("x"),
}


def answer_all(server: responses.RequestsMock, **answer: Any) -> None:
    server.assert_all_requests_are_fired = False
    for method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
        server.add(method, re.compile(f"{URL}/.*"), **answer)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"status": 502, "body": HTML, "content_type": "text/html"}, id="a proxy's 502"),
        pytest.param({"status": 200, "body": HTML, "content_type": "text/html"}, id="a proxy's login page"),
        pytest.param({"status": 200, "body": HTML, "content_type": "application/json"}, id="HTML that says JSON"),
        pytest.param({"status": 404, "body": HTML, "content_type": "text/html"}, id="a proxy's 404"),
        pytest.param({"status": 200, "body": ""}, id="nothing"),
        pytest.param({"status": 200, "body": '{"rows": [', "content_type": "application/json"}, id="cut"),
        pytest.param({"status": 500, "json": {"error": "internal_server_error"}}, id="500"),
        pytest.param({"status": 503, "json": {"error": "nodedown"}}, id="503"),
        pytest.param({"status": 504, "body": ""}, id="504"),
        pytest.param({"status": 429, "json": {"error": "too_many_requests"}}, id="429"),
        pytest.param({"body": requests.ConnectionError("s3cret")}, id="no connection"),
        pytest.param({"body": requests.ReadTimeout("s3cret")}, id="no answer in time"),
        pytest.param({"body": requests.exceptions.ChunkedEncodingError("s3cret")}, id="broken off"),
    ],
)
def test_what_may_pass(server: responses.RequestsMock, store: Store, call: str, answer: dict[str, Any]) -> None:
    answer_all(server, **answer)
    with pytest.raises(Retryable) as caught:
        CALLS[call](store)
    assert "s3cret" not in str(caught.value)
    assert "html" not in str(caught.value)


@pytest.mark.parametrize("content_type", ["", "text/plain", "text/html; charset=latin-1", "application/json"])
def test_json_is_json_whatever_the_content_type_says(
    server: responses.RequestsMock, store: Store, content_type: str
) -> None:
    server.get(f"{DATABASE}/d", body='{"_id": "d", "name": "é"}'.encode(), content_type=content_type)
    assert store.get(GLOBAL, TYPE, "d")["name"] == "é"


def test_an_answer_without_a_content_type(server: responses.RequestsMock, store: Store) -> None:
    server.get(f"{DATABASE}/d", body=b'{"_id": "d"}', content_type=None)
    assert store.get(GLOBAL, TYPE, "d") == {"_id": "d"}


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("", None), ("soon", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None)]
)
@pytest.mark.parametrize("status", [429, 503])
def test_when_to_come_back(
    server: responses.RequestsMock, store: Store, status: int, header: str, seconds: float | None
) -> None:
    server.get(f"{DATABASE}/d", status=status, json={}, headers={"Retry-After": header})
    with pytest.raises(Retryable) as caught:
        store.get(GLOBAL, TYPE, "d")
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, {"error": "not_found", "reason": "missing"}, NotFound),
        (404, {"error": "not_found", "reason": "deleted"}, NotFound),
        (409, {"error": "conflict", "reason": "Document update conflict."}, Conflict),
        (400, {"error": "bad_request", "reason": "no"}, RagcoreError),
        (401, {"error": "unauthorized", "reason": "no"}, RagcoreError),
        (403, {"error": "forbidden", "reason": "no"}, RagcoreError),
        (413, {"error": "document_too_large", "reason": "no"}, RagcoreError),
    ],
)
@pytest.mark.parametrize("call", ["get", "save", "delete", "changes"])
def test_what_a_refusal_means(
    server: responses.RequestsMock, store: Store, call: str, status: int, body: Any, kind: type[RagcoreError]
) -> None:
    answer_all(server, status=status, json=body)
    with pytest.raises(RagcoreError) as caught:
        CALLS[call](store)
    assert isinstance(caught.value, kind)
    assert not isinstance(caught.value, Retryable)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"body": ConnectionRefusedError()}, Retryable),
        ({"body": ConnectionResetError()}, Unanswered),
        ({"body": TimeoutError()}, Unanswered),
        ({"status": 429, "json": {}}, Retryable),
        ({"status": 500, "json": {"error": "timeout"}}, Unanswered),
        ({"status": 502, "body": HTML}, Unanswered),
        ({"status": 503, "json": {}}, Retryable),
        ({"status": 504, "body": HTML}, Unanswered),
    ],
)
def test_whether_it_is_known_that_nothing_was_written(
    server: responses.RequestsMock, store: Store, answer: dict[str, Any], kind: type[Retryable]
) -> None:
    answer_all(server, **answer)
    with pytest.raises(Retryable) as caught:
        store.save(GLOBAL, TYPE, {"_id": "d"})
    assert type(caught.value) is kind
    with pytest.raises(Retryable) as caught:
        store.get(GLOBAL, TYPE, "d")
    assert type(caught.value) is Retryable


def test_a_database_that_is_there_already_is_fine(server: responses.RequestsMock, store: Store) -> None:
    server.put(f"{URL}/x", status=412, json={"error": "file_exists", "reason": "it exists"})
    store.server.create("x")


def test_a_missing_database_is_made_at_the_first_write(server: responses.RequestsMock, store: Store) -> None:
    missing = {"error": "not_found", "reason": "Database does not exist."}
    server.put(f"{DATABASE}/d", status=404, json=missing)
    server.put(DATABASE, status=201, json={"ok": True})
    server.put(f"{DATABASE}/d", status=201, json={"ok": True, "id": "d", "rev": "1-a"})
    assert store.save(GLOBAL, TYPE, {"_id": "d"})["_rev"] == "1-a"


def test_reading_a_missing_database_makes_nothing(server: responses.RequestsMock, store: Store) -> None:
    server.post(f"{DATABASE}/_find", status=404, json={"error": "not_found", "reason": "no_db_file"})
    assert store.find(GLOBAL, TYPE, {}) == []
    assert len(server.calls) == 1


def test_nothing_is_announced_that_was_not_written(server: responses.RequestsMock) -> None:
    class Alice:
        prefix = domain = "alice.localhost"

    told: list[Any] = []
    store = Store(URL, lambda domain, event: told.append(event))
    answer_all(server, status=502, body=HTML)
    for call in (store.save, store.delete):
        with pytest.raises(Retryable):
            call(Alice(), TYPE, {"_id": "d", "_rev": "1-a"})
    assert told == []


# pending and the feed


@pytest.mark.parametrize(
    ("page", "limit", "more"),
    [
        ({"pending": 0}, 2, False),
        ({"pending": 5}, 2, True),
        ({"pending": 0}, 1, False),
        ({}, 2, True),
        ({}, 3, False),
    ],
)
def test_whether_more_is_waiting(
    server: responses.RequestsMock, store: Store, page: dict[str, Any], limit: int, more: bool
) -> None:
    rows = [{"id": name, "doc": {"_id": name}} for name in ("a", "b")]
    body = {"results": rows[:limit], "last_seq": "2-opaque", **page}
    server.get(f"{DATABASE}/_changes", json=body)
    changes = store.changes(GLOBAL, TYPE, "1-opaque", limit)
    assert (changes.more, changes.last_seq) == (more, "2-opaque")
    assert [doc["_id"] for doc in changes.documents] == ["a", "b"][:limit]


@pytest.mark.parametrize("since", [0, 17, "17-g1AAAACTeJzLYWBgYMpgTmHgz8tPSTV0MDQy1zMAQsMckEQiQ1L9____szKYkxgYGA-+/="])
def test_a_sequence_is_sent_as_it_was_given(server: responses.RequestsMock, store: Store, since: Any) -> None:
    sent = responses.matchers.query_param_matcher({"since": str(since), "limit": "10", "include_docs": "true"})
    server.get(f"{DATABASE}/_changes", json={"results": [], "last_seq": since}, match=[sent])
    assert store.changes(GLOBAL, TYPE, since, 10).last_seq == since


def test_a_change_whose_document_cannot_be_read_is_not_passed_over(
    server: responses.RequestsMock, store: Store
) -> None:
    body = {"results": [{"id": "a", "doc": None}, {"id": "c", "doc": {"_id": "c"}}], "last_seq": 3}
    server.get(f"{DATABASE}/_changes", json=body)
    with pytest.raises(Retryable):
        store.changes(GLOBAL, TYPE, 0, 10)


def test_a_404_of_somebody_in_between_is_no_empty_list(server: responses.RequestsMock, store: Store) -> None:
    server.get(f"{DATABASE}/_all_docs", status=404, json={"message": "no route matched"})
    with pytest.raises(Retryable):
        list(store.all(GLOBAL, TYPE))


# quoting


@pytest.mark.parametrize(
    ("doc_id", "path"),
    [
        ("a/b", "a%2Fb"),
        ("a?b", "a%3Fb"),
        ("a#b", "a%23b"),
        ("a b", "a%20b"),
        ("a%2Fb", "a%252Fb"),
        ("a&b=c+d", "a%26b%3Dc%2Bd"),
        ("été", "%C3%A9t%C3%A9"),
        ("a:b@c", "a%3Ab%40c"),
        ("../../x", "..%2F..%2Fx"),
        ("_local/rag-index", "_local/rag-index"),
        ("_local/a/b", "_local/a%2Fb"),
        ("_design/by-name", "_design/by-name"),
    ],
)
def test_ids_are_quoted(server: responses.RequestsMock, store: Store, doc_id: str, path: str) -> None:
    server.get(f"{DATABASE}/{path}", json={"_id": doc_id, "_rev": "1-a"})
    server.put(f"{DATABASE}/{path}", status=201, json={"ok": True, "id": doc_id, "rev": "2-b"})
    server.delete(f"{DATABASE}/{path}", json={"ok": True, "id": doc_id, "rev": "3-c"})
    store.delete(GLOBAL, TYPE, store.save(GLOBAL, TYPE, store.get(GLOBAL, TYPE, doc_id)))
    assert [call.request.url.partition("?")[0] for call in server.calls] == [f"{DATABASE}/{path}"] * 3


def test_names_of_databases_are_one_segment(server: responses.RequestsMock, store: Store) -> None:
    server.put(f"{URL}/a%2Fb%3Fc%23d", status=201, json={"ok": True})
    store.server.create("a/b?c#d")
    assert server.calls[0].request.url == f"{URL}/a%2Fb%3Fc%23d"


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(names.filter(lambda name: not name.startswith("_") and name not in (".", "..")))
def test_a_segment_holds_any_name(name: str) -> None:
    assert not set(_segment(name)) & set("/?#")
    assert unquote(_segment(name)) == name


@pytest.mark.parametrize("doc_id", ["", ".", ".."])
def test_an_id_of_dots_is_no_other_resource(server: responses.RequestsMock, store: Store, doc_id: str) -> None:
    answer_all(server, json={"couchdb": "Welcome", "db_name": "x"})
    with pytest.raises(RagcoreError):
        store.get(GLOBAL, TYPE, doc_id)


# the session


def test_the_user_and_the_password_are_sent_as_a_header(server: responses.RequestsMock, store: Store) -> None:
    server.get(URL, json={"couchdb": "Welcome"})
    assert store.server.info() == {"couchdb": "Welcome"}
    request = server.calls[0].request
    assert "s3cret" not in request.url
    assert request.headers["Authorization"].startswith("Basic ")


def test_every_request_has_time_outs(server: responses.RequestsMock, store: Store) -> None:
    answer_all(server, json={"rows": [], "docs": [], "results": [], "last_seq": 0})
    for name in ("info", "all", "find", "view", "changes"):
        CALLS[name](store)
    assert all(call.request.req_kwargs["timeout"] for call in server.calls)


def test_a_body_is_json_in_utf_8(server: responses.RequestsMock, store: Store) -> None:
    server.put(f"{DATABASE}/d", status=201, json={"ok": True, "id": "d", "rev": "1-a"})
    store.save(GLOBAL, TYPE, {"_id": "d", "name": "é😀"})
    request = server.calls[0].request
    assert json.loads(request.body) == {"_id": "d", "name": "é😀"}
    assert request.headers["Content-Type"] == "application/json"


def test_other_errors_are_not_ours_to_translate() -> None:
    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        translate(fail)
