"""What the project relies on in the document database of the embedded stack."""

import http.client
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from deploy.local.stack import Stack

Call = Callable[..., requests.Response]
TIMEOUT = 20


@pytest.fixture(scope="module")
def database_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("database"), services=["couchdb"]) as stack:
        yield stack


@pytest.fixture(scope="module")
def server(database_stack: Stack) -> Call:
    """Calls a path of the server."""
    session = requests.Session()
    session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=200))
    base = database_stack.url("couchdb")
    return lambda method, path, **options: session.request(method, base + path, timeout=TIMEOUT, **options)


@pytest.fixture
def db(server: Call) -> Iterator[Call]:
    """Calls a path of an empty database whose name holds a slash."""
    name = "alice-localhost%2Fio-cozy-files"
    assert server("PUT", name).status_code == 201
    yield lambda method, path="", **options: server(method, f"{name}/{path}", **options)
    assert server("DELETE", name).status_code == 200


def error(response: requests.Response) -> tuple[int, str, str]:
    body = response.json()
    return response.status_code, body["error"], body["reason"]


def bulk(db: Call, *docs: dict[str, Any]) -> list[dict[str, Any]]:
    response = db("POST", "_bulk_docs", json={"docs": docs})
    assert response.status_code == 201
    return list(response.json())


def ids(response: requests.Response, key: str = "rows") -> list[str]:
    return [row["id"] for row in response.json()[key]]


def test_it_welcomes_and_lists_its_databases(server: Call, db: Call) -> None:
    assert server("GET", "").json()["couchdb"] == "Welcome"
    assert "alice-localhost/io-cozy-files" in server("GET", "_all_dbs").json()
    assert db("GET").json()["db_name"] == "alice-localhost/io-cozy-files"


def test_what_is_missing_is_a_404_with_its_reason(server: Call, db: Call) -> None:
    no_database = (404, "not_found", "Database does not exist.")
    assert error(server("GET", "nobody%2Fnothing")) == no_database
    assert error(server("GET", "nobody%2Fnothing/doc")) == no_database
    assert error(server("POST", "nobody%2Fnothing/_find", json={"selector": {}})) == no_database
    assert error(server("GET", "nobody%2Fnothing/_changes?feed=continuous")) == no_database
    assert error(db("GET", "doc")) == (404, "not_found", "missing")


def test_a_document_goes_through_its_revisions(db: Call) -> None:
    first = db("PUT", "doc", json={"n": 1}).json()["rev"]
    assert error(db("PUT", "doc", json={"n": 2}))[:2] == (409, "conflict")
    second = db("PUT", "doc", json={"n": 2, "_rev": first}).json()["rev"]
    assert db("GET", "doc").json() == {"_id": "doc", "_rev": second, "n": 2}
    assert error(db("PUT", "doc", json={"n": 3, "_rev": first}))[:2] == (409, "conflict")
    assert db("GET", f"doc?rev={first}").json()["n"] == 1
    assert error(db("DELETE", "doc"))[:2] == (409, "conflict")
    assert error(db("DELETE", f"doc?rev={first}"))[:2] == (409, "conflict")
    assert db("DELETE", f"doc?rev={second}").status_code == 200
    assert error(db("GET", "doc")) == (404, "not_found", "deleted")
    assert db("PUT", "doc", json={}).json()["rev"].startswith("4-"), "written anew after it was deleted"


def test_post_makes_an_id_or_takes_the_one_given(db: Call) -> None:
    made = db("POST", json={"n": 1})
    assert made.status_code == 201
    assert db("GET", made.json()["id"]).json()["n"] == 1
    assert db("POST", json={"_id": "given"}).json()["id"] == "given"
    assert error(db("POST", json={"_id": "given"}))[:2] == (409, "conflict")


@pytest.mark.parametrize(
    ("encoded", "plain"),
    [
        ("a%2Fb", "a/b"),
        ("a%3Fb%23c", "a?b#c"),
        ("%C3%A9%F0%9F%98%80", "é😀"),
        ("100%25", "100%"),
        ("null", "null"),
    ],
)
def test_an_id_may_hold_any_character(db: Call, encoded: str, plain: str) -> None:
    assert db("PUT", encoded, json={}).json()["id"] == plain
    assert db("GET", encoded).json()["_id"] == plain


@pytest.mark.parametrize("path", ["_local/checkpoint", "_local%2Fcheckpoint"])
def test_local_documents_are_kept_and_stay_out_of_the_feed(db: Call, path: str) -> None:
    assert db("GET", path).status_code == 404
    first = db("PUT", path, json={"seq": "1"}).json()["rev"]
    assert db("PUT", path, json={"seq": "2", "_rev": first}).status_code == 201
    assert db("GET", path).json()["seq"] == "2"
    assert db("GET", "_changes").json()["results"] == []
    assert ids(db("GET", "_all_docs")) == []


def test_bulk_writes_answer_for_each_document(db: Call) -> None:
    db("PUT", "there", json={})
    answers = bulk(db, {"_id": "new"}, {"_id": "there"}, {"n": 1})
    assert [answer.get("error") for answer in answers] == [None, "conflict", None]
    assert answers[0]["rev"].startswith("1-")


def test_all_docs_gives_ranges_pages_and_keys(db: Call) -> None:
    bulk(db, *({"_id": id_, "n": number} for number, id_ in enumerate("abcde")))
    assert ids(db("GET", '_all_docs?startkey="b"&endkey="d"')) == ["b", "c", "d"]
    assert ids(db("GET", '_all_docs?startkey="b"&skip=1&limit=2')) == ["c", "d"]
    assert ids(db("GET", "_all_docs?descending=true&limit=1")) == ["e"]
    rows = db("POST", "_all_docs?include_docs=true", json={"keys": ["e", "none", "a"]}).json()["rows"]
    assert rows[0]["doc"]["n"] == 4
    assert rows[1] == {"key": "none", "error": "not_found"}
    assert rows[2]["doc"]["n"] == 0


def test_the_feed_gives_pages_from_a_sequence(db: Call) -> None:
    bulk(db, *({"_id": id_} for id_ in "abc"))
    page = db("GET", "_changes?limit=2").json()
    assert [change["id"] for change in page["results"]] == ["a", "b"]
    rest = db("GET", f"_changes?since={page['last_seq']}&include_docs=true").json()
    assert [change["doc"]["_id"] for change in rest["results"]] == ["c"]
    assert db("GET", f"_changes?since={rest['last_seq']}").json()["results"] == []
    assert db("GET", "_changes?since=now").json() == {"results": [], "last_seq": rest["last_seq"]}


def test_a_sequence_of_another_database_starts_the_feed_over(db: Call) -> None:
    db("PUT", "a", json={})
    assert ids(db("GET", "_changes?since=900"), "results") == ["a"]
    assert error(db("GET", "_changes?since=900-abc"))[:2] == (400, "bad_request")


def test_longpoll_answers_at_once_or_with_the_next_change(db: Call, until: Callable[..., Any]) -> None:
    db("PUT", "a", json={})
    assert ids(db("GET", "_changes?feed=longpoll"), "results") == ["a"]
    assert ids(db("GET", "_changes?feed=longpoll&since=now&timeout=50"), "results") == []
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(db, "GET", "_changes?feed=longpoll&since=1&heartbeat=50", stream=True)
        until(waiting.done)  # its headers have come: it listens
        db("PUT", "b", json={})
        assert ids(waiting.result(), "results") == ["b"]


def follow(db: Call, query: str) -> Iterator[dict[str, Any] | None]:
    """The lines of a continuous feed; None for a heartbeat."""
    with db("GET", f"_changes?feed=continuous&{query}", stream=True) as response:
        for line in response.iter_lines(chunk_size=1):
            yield json.loads(line) if line else None


def test_a_continuous_feed_gives_changes_as_they_come_and_heartbeats(db: Call) -> None:
    db("PUT", "a", json={})
    lines = follow(db, "since=0&heartbeat=30&include_docs=true")
    first = next(line for line in lines if line)
    assert first["doc"]["_id"] == "a"
    assert next(lines) is None
    db("PUT", "b", json={})
    assert next(line for line in lines if line)["id"] == "b"


def test_a_continuous_feed_without_heartbeat_ends_after_its_time(db: Call) -> None:
    assert list(follow(db, "since=now&timeout=50")) == [{"last_seq": 0}]


def test_a_deleted_database_ends_its_feeds(server: Call) -> None:
    server("PUT", "bob%2Fshort-lived")
    lines = follow(
        lambda method, path, **options: server(method, f"bob%2Fshort-lived/{path}", **options), "heartbeat=30"
    )
    assert next(lines) is None
    assert server("DELETE", "bob%2Fshort-lived").status_code == 200
    assert [line for line in lines if line] == [{"last_seq": 0}]


def test_find_uses_an_index(db: Call) -> None:
    bulk(db, *({"_id": f"{n:02}", "dir_id": "d" if n % 2 else "e"} for n in range(10)))
    index = {"index": {"fields": ["dir_id", "_id"]}, "name": "dir-children", "ddoc": "dir-children"}
    assert db("POST", "_index", json=index).json()["result"] == "created"
    assert db("POST", "_index", json=index).json()["result"] == "exists"
    assert [one["name"] for one in db("GET", "_index").json()["indexes"]] == ["_all_docs", "dir-children"]
    query = {"selector": {"dir_id": "d", "_id": {"$gt": "03"}}, "use_index": "dir-children", "limit": 2}
    found = db("POST", "_find", json={**query, "fields": ["_id"]}).json()
    assert found["docs"] == [{"_id": "05"}, {"_id": "07"}]
    last = db("POST", "_find", json={**query, "fields": ["_id"], "bookmark": found["bookmark"]}).json()
    assert last["docs"] == [{"_id": "09"}]
    assert error(db("POST", "_find", json={}))[:2] == (400, "bad_request")


def test_find_gives_full_pages_after_equal_keys(db: Call) -> None:
    bulk(db, *({"_id": f"{n:02}", "kind": "a" if n < 10 else "b"} for n in range(45)))
    db("POST", "_index", json={"index": {"fields": ["kind"]}, "name": "kind"})
    after = {"selector": {"kind": {"$gt": "a"}}, "limit": 3, "skip": 1, "fields": ["_id"]}
    assert db("POST", "_find", json=after).json()["docs"] == [{"_id": "11"}, {"_id": "12"}, {"_id": "13"}]
    assert len(db("POST", "_find", json={"selector": {}}).json()["docs"]) == 25, "CouchDB's limit where none is given"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "doc", b"{broken"),
        ("PUT", "doc", b""),
        ("PUT", "doc", b"[1]"),
        ("PUT", "doc", b"null"),
        ("PUT", "doc", b'{"_id": "other"}'),
        ("PUT", "doc", b'{"_unknown": 1}'),
        ("PUT", "doc", b'{"_rev": "nonsense"}'),
        ("PUT", "_unknown", b"{}"),
        ("POST", "", b'{"_id": 7}'),
        ("POST", "_bulk_docs", b"[]"),
        ("POST", "_bulk_docs", b'{"docs": [1, null]}'),
        ("POST", "_all_docs", b'{"keys": "a"}'),
        ("POST", "_find", b'{"selector": 5}'),
    ],
)
def test_bad_input_is_a_400_and_writes_nothing(db: Call, method: str, path: str, body: bytes) -> None:
    assert db(method, path, data=body).status_code == 400
    assert ids(db("GET", "_all_docs")) == []


@pytest.mark.parametrize("path", ["/%E0%A4%A", "/%ff", "/Upper", "/a~b", "/..%2F..%2Fetc", "/" + "a" * 300])
def test_a_bad_database_name_is_a_400(database_stack: Stack, path: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(database_stack.url("couchdb")).netloc, timeout=TIMEOUT)
    connection.request("PUT", path)  # `requests` would mend the path
    assert connection.getresponse().status == 400
    connection.close()


def test_bodies_up_to_64_mib_are_taken(db: Call) -> None:
    mebibyte = "x" * (1 << 20)
    assert db("PUT", "large", json={"text": mebibyte * 60}).status_code == 201
    assert error(db("PUT", "larger", json={"text": mebibyte * 64}))[:2] == (413, "too_large")


def test_parallel_writes_are_all_kept(db: Call) -> None:
    with ThreadPoolExecutor(200) as pool:
        statuses = list(pool.map(lambda n: db("PUT", f"doc{n}", json={}).status_code, range(200)))
    assert Counter(statuses) == {201: 200}
    assert db("GET").json()["doc_count"] == 200


def test_of_many_first_writes_one_wins(server: Call, db: Call) -> None:
    with ThreadPoolExecutor(40) as pool:
        created = list(pool.map(lambda _: server("PUT", "carol%2Fnew").status_code, range(40)))
        written = list(pool.map(lambda _: db("PUT", "same", json={}).status_code, range(40)))
    server("DELETE", "carol%2Fnew")
    assert Counter(created) == {201: 1, 412: 39}
    assert Counter(written) == {201: 1, 409: 39}


def test_databases_made_used_and_deleted_at_once_leave_no_request_without_answer(server: Call) -> None:
    def disturb(number: int) -> tuple[int, int]:
        name = f"race{number % 3}"
        whole = server(["PUT", "DELETE"][number % 2], name)
        return whole.status_code, server("PUT", f"{name}/doc{number}", json={}).status_code

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(disturb, range(120)))
    for name in ("race0", "race1", "race2"):
        server("DELETE", name)
    assert {status for pair in answers for status in pair} <= {200, 201, 404, 412}


def test_many_feeds_hear_one_write(db: Call) -> None:
    ready = threading.Barrier(31, timeout=TIMEOUT)

    def listen(_: int) -> str:
        lines = follow(db, "since=now&heartbeat=50")
        assert next(lines) is None
        ready.wait()
        return str(next(line for line in lines if line)["id"])

    with ThreadPoolExecutor(30) as pool:
        heard = pool.map(listen, range(30))
        ready.wait()
        db("PUT", "news", json={})
        assert set(heard) == {"news"}


def test_what_was_written_outlives_the_process(database_stack: Stack, server: Call, db: Call) -> None:
    db("PUT", "doc", json={"n": 1})
    process = database_stack.processes["couchdb"]
    for end in (process.stop, process.kill):
        end()
        process.start()
        assert db("GET", "doc").json()["n"] == 1
