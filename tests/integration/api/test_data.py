"""The data routes."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import pytest
import requests

from api.app import create_app
from ragcore.documents import ACCOUNTS, ASSISTANTS, CONVERSATIONS, FILES, ROOT_ID, STATUSES
from ragcore.errors import NotFound
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tasks.app import create_app as create_celery
from tasks.base import CeleryQueue
from tests.support.api import Client
from tests.support.vault import ACCOUNT_KEY

SCOPE = f"{ASSISTANTS} {CONVERSATIONS} {STATUSES} {ACCOUNTS} {FILES}"
PATH = f"/data/{ASSISTANTS}"

Json = dict[str, Any]


@pytest.fixture
def scoped(runtime: Runtime, instance: Instance) -> Callable[..., Client]:
    return lambda scope=SCOPE: Client(runtime.config.public_url(instance.domain), instance, scope)


@pytest.fixture
def data(scoped: Callable[..., Client]) -> Callable[..., requests.Response]:
    """`data("POST", "/_find", {...})`, on the assistants or on another doctype."""
    client = scoped()

    def send(method: str, path: str, body: Any = None, doctype: str = ASSISTANTS, **kwargs: Any) -> requests.Response:
        return client.request(method, f"/data/{doctype}{path}", json=body, **kwargs)

    return send


@pytest.fixture
def three(data: Callable[..., requests.Response]) -> list[str]:
    """Ids before and behind the design documents, and an index among them."""
    assert data("POST", "/_index", {"index": {"fields": ["n"]}, "ddoc": "by_n"}).status_code == 200
    return [data("PUT", f"/{doc_id}", {"n": n}).json()["id"] for n, doc_id in enumerate(("A", "B", "c"))]


def check_error(response: requests.Response, status: int, error: str, reason: str = "") -> None:
    assert response.status_code == status, response.text
    body = response.json()
    assert (body["status"], body["error"]) == (str(status), error)
    assert reason in body["reason"]
    assert body["errors"][0]["status"] == str(status)


def test_a_document_is_made_read_changed_and_deleted(data: Callable[..., requests.Response]) -> None:
    made = data("POST", "/", {"name": "Cook", "_type": ASSISTANTS})
    assert made.status_code == 201
    answer = made.json()
    doc_id, rev = answer["id"], answer["rev"]
    shown = {"_id": doc_id, "_rev": rev, "_type": ASSISTANTS, "name": "Cook"}
    assert answer == {"ok": True, "id": doc_id, "rev": rev, "type": ASSISTANTS, "data": shown}
    assert data("GET", f"/{doc_id}").json() == shown

    changed = data("PUT", f"/{doc_id}", shown | {"name": "Chef"})
    assert (changed.status_code, changed.json()["data"]["name"]) == (200, "Chef")
    check_error(data("PUT", f"/{doc_id}", shown), 409, "conflict", "Document update conflict")
    check_error(data("PUT", f"/{doc_id}", {"name": "New"}), 409, "conflict", "Document update conflict")
    check_error(data("DELETE", f"/{doc_id}", params={"rev": rev}), 409, "conflict")
    check_error(data("DELETE", f"/{doc_id}"), 400, "bad_request")

    current = changed.json()["rev"]
    deleted = data("DELETE", f"/{doc_id}", params={"rev": current})
    assert deleted.status_code == 200
    assert deleted.json() | {"rev": ""} == {"ok": True, "id": doc_id, "rev": "", "type": ASSISTANTS, "deleted": True}
    assert deleted.json()["rev"].startswith("3-")
    check_error(data("GET", f"/{doc_id}"), 404, "not_found")
    check_error(data("DELETE", f"/{doc_id}", params={"rev": current}), 404, "not_found")


def test_the_stored_document_is_as_it_was_sent(
    data: Callable[..., requests.Response], runtime: Runtime, instance: Instance
) -> None:
    data("PUT", "/mine", {"_type": ASSISTANTS, "name": "é", "deep": {"_x": [1, None]}})
    stored = runtime.store.get(instance, ASSISTANTS, "mine")
    assert stored == {"_id": "mine", "_rev": stored["_rev"], "name": "é", "deep": {"_x": [1, None]}}


def test_an_empty_id_or_revision_is_none(data: Callable[..., requests.Response]) -> None:
    assert data("POST", "/", {"_id": None, "_rev": "", "n": 1}).status_code == 201
    assert data("PUT", "/a", {"_id": None, "_rev": None, "n": 1}).json()["data"]["n"] == 1


def test_an_id_may_hold_anything(data: Callable[..., requests.Response]) -> None:
    doc_id = "a/b ?#%é"
    assert data("PUT", f"/{quote(doc_id, safe='')}", {"n": 1}).json()["id"] == doc_id
    assert data("GET", f"/{quote(doc_id, safe='')}").json()["n"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/", []),
        ("POST", "/", {"_id": "a"}),
        ("POST", "/", {"_deleted": True}),
        ("PUT", "/a", {"_id": "b"}),
        ("PUT", "/a", {"_rev": 1}),
        ("PUT", "/a", {"_rev": "x"}),
        ("PUT", "/a", {"_attachments": {"x": {"data": ""}}}),
        ("PUT", "/a", {"_rev": "1-a", "_deleted": True}),
        ("POST", "/_find", {"selector": {}, "limit": "x"}),
        ("POST", "/_find", {"selector": {}, "bookmark": 7}),
        ("POST", "/_find", {"selector": {"n": {"$bad": 1}}}),
        ("POST", "/_find", {}),
        ("POST", "/_index", {"index": {"fields": ["n"]}, "ddoc": 1}),
        ("POST", "/_index", {"index": {"fields": ["n"]}, "name": {}}),
        ("POST", "/_all_docs", {"keys": ["a", 1]}),
        ("GET", "/_all_docs?limit=x", None),
        ("GET", "/_all_docs?limit=true", None),
        ("GET", "/_all_docs?include_docs=maybe", None),
    ],
)
def test_bad_input(data: Callable[..., requests.Response], method: str, path: str, body: Any, three: list[str]) -> None:
    check_error(data(method, path, body), 400, "bad_request")


def test_a_document_that_is_too_deep(scoped: Callable[..., Client]) -> None:
    body = '{"a":' * 900 + "1" + "}" * 900
    check_error(scoped().request("POST", f"/data/{ACCOUNTS}/", data=body), 400, "bad_request")


def test_a_selector_is_sorted_paged_and_cut_to_its_fields(
    data: Callable[..., requests.Response], three: list[str]
) -> None:
    request = {"selector": {"n": {"$gt": None}}, "sort": [{"n": "desc"}], "use_index": "_design/by_n", "fields": ["n"]}
    first = data("POST", "/_find", request | {"limit": 2}).json()
    assert (first["docs"], first["limit"], first["next"]) == ([{"n": 2}, {"n": 1}], 2, True)
    last = data("POST", "/_find", request | {"limit": 2, "bookmark": first["bookmark"]}).json()
    assert (last["docs"], last["next"]) == ([{"n": 0}], False)
    assert data("POST", "/_find", request | {"skip": 2, "limit": 1}).json()["next"] is False
    whole = data("POST", "/_find", request | {"limit": 3}).json()
    assert (len(whole["docs"]), whole["next"]) == (3, False)
    assert data("POST", "/_find", request).json()["limit"] == 100
    assert data("POST", "/_find", request | {"limit": 5000}).json()["limit"] == 1000


def test_a_missing_index_is_told_as_the_database_tells_it(
    data: Callable[..., requests.Response], three: list[str]
) -> None:
    request = {"selector": {"deep.m": {"$gt": None}}, "sort": ["deep.m"], "use_index": "_design/by_m"}
    check_error(data("POST", "/_find", request), 400, "no_usable_index")
    definition = {"index": {"fields": ["deep.m"]}, "ddoc": "by_m"}
    made = data("POST", "/_index", definition).json()
    assert (made["result"], made["id"]) == ("created", "_design/by_m")
    assert data("POST", "/_index", definition).json() == made | {"result": "exists"}
    assert data("POST", "/_find", request).json()["docs"] == []


def test_all_documents_are_listed_as_couchdb_lists_them(
    data: Callable[..., requests.Response], three: list[str]
) -> None:
    def ids(query: str = "") -> list[str]:
        return [row["id"] for row in data("GET", f"/_all_docs{query}").json()["rows"]]

    answer = data("GET", "/_all_docs").json()
    assert (answer["total_rows"], answer["offset"]) == (3, 0)
    assert set(answer["rows"][0]) == {"id", "key", "value"}
    assert ids() == ids("?start_key=A&end_key=d") == ["A", "B", "c"]
    assert ids("?limit=1&skip=2") == ids('?startkey="Z"&limit=1') == ids("?key=c") == ["c"]
    assert ids("?descending=true&limit=2") == ["c", "B"]
    assert ids('?startkey="A"&endkey="c"&inclusive_end=false') == ["A", "B"]
    docs = data("GET", "/_all_docs?include_docs=true").json()["rows"]
    assert [row["doc"]["n"] for row in docs] == [0, 1, 2]


def test_documents_are_read_by_their_keys(data: Callable[..., requests.Response], three: list[str]) -> None:
    answer = data("POST", "/_all_docs?include_docs=true", {"keys": ["c", "none", "A"]}).json()
    assert [row.get("doc", {}).get("n") for row in answer["rows"]] == [2, None, 0]
    assert answer["rows"][1] == {"key": "none", "error": "not_found"}
    assert [row["id"] for row in data("GET", '/_all_docs?keys=["A"]').json()["rows"]] == ["A"]


def test_normal_documents_are_paged(data: Callable[..., requests.Response], three: list[str]) -> None:
    first = data("GET", "/_normal_docs?limit=2&include_docs=true").json()
    assert ([doc["_id"] for doc in first["rows"]], first["total_rows"]) == (["A", "B"], 3)
    assert [doc["_id"] for doc in data("GET", "/_normal_docs?limit=2&skip=2").json()["rows"]] == ["c"]
    last = data("GET", f"/_normal_docs?limit=2&bookmark={quote(first['bookmark'])}").json()
    assert [doc["_id"] for doc in last["rows"]] == ["c"]


def test_what_was_never_written_is_an_empty_list(data: Callable[..., requests.Response]) -> None:
    assert data("POST", "/_find", {"selector": {"n": 1}}).json()["docs"] == []
    assert data("GET", "/_all_docs").json() == {"total_rows": 0, "offset": 0, "rows": []}
    assert data("GET", "/_normal_docs").json()["rows"] == []
    assert data("POST", "/_all_docs", {"keys": ["a"]}).json()["rows"] == [{"key": "a", "error": "not_found"}]
    check_error(data("GET", "/a"), 404, "not_found")


def test_an_id_holds_any_character(scoped: Callable[..., Client]) -> None:
    for quoted in ("a%0Ab", "a%2Fb", "a%3Fb%23", "%C2%85", "a%0D%0A"):
        written = scoped().raw("PUT", f"{PATH}/{quoted}", {"n": 1}).json()
        assert scoped().raw("GET", f"{PATH}/{quoted}").json()["_id"] == written["id"] == unquote(quoted)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
@pytest.mark.parametrize(
    "path",
    [
        "/_design/by_n",
        "/_design%2Fby_n",
        "/%5Fdesign/by_n",
        "/%5fdesign%2fby_n",
        "//_design/by_n",
        "/%2F_design/by_n",
        "/./_design/by_n",
        "/a/../_design/by_n",
        "/a%2F..%2F_design%2Fby_n",
        "/_local/x",
        "/_local%2Fx",
        "/_local_docs",
        "/_changes",
        "/_bulk_docs",
        "/_security",
    ],
)
def test_design_and_local_documents_have_no_route(
    scoped: Callable[..., Client], three: list[str], runtime: Runtime, instance: Instance, method: str, path: str
) -> None:
    runtime.store.save_local(instance, ASSISTANTS, "x", {"secret": 1})
    response = scoped().raw(method, PATH + path, {"n": 1})
    assert response.status_code in (404, 405), response.text
    assert runtime.store.get(instance, ASSISTANTS, "_design/by_n")["language"] == "query"
    assert runtime.store.get(instance, ASSISTANTS, "_local/x")["secret"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", '/_all_docs?startkey="_"&endkey="_zzz"&include_docs=true', None),
        ("GET", '/_all_docs?descending=true&startkey="_design0"&endkey="_design/"&include_docs=true', None),
        ("GET", '/_all_docs?key="_design/by_n"&include_docs=true', None),
        ("GET", '/_all_docs?keys=["_design/by_n","_local/x"]&include_docs=true', None),
        ("POST", "/_all_docs?include_docs=true", {"keys": ["_design/by_n", "_local/x"]}),
        ("POST", "/_all_docs", {"startkey": "_design/", "endkey": "_design0", "include_docs": True}),
        ("POST", "/_find", {"selector": {"_id": "_design/by_n"}}),
        ("POST", "/_find", {"selector": {"_id": {"$gte": "_design/", "$lt": "_design0"}}, "fields": ["views"]}),
        ("POST", "/_find", {"selector": {"views": {"$exists": True}}}),
        ("GET", "/_design_docs?include_docs=true", None),
    ],
)
def test_design_and_local_documents_are_in_no_list(
    data: Callable[..., requests.Response],
    three: list[str],
    runtime: Runtime,
    instance: Instance,
    method: str,
    path: str,
    body: Any,
) -> None:
    runtime.store.save_local(instance, ASSISTANTS, "x", {"secret": 1})
    response = data(method, path, body)
    assert response.status_code == 200, response.text
    rows = response.json().get("rows", response.json().get("docs"))
    assert [row for row in rows if row.get("error") != "not_found"] == []


def test_the_indexes_of_the_server_are_not_a_clients(
    data: Callable[..., requests.Response], runtime: Runtime, instance: Instance
) -> None:
    for ddoc in ("dir-children", "_design/dir-children", "dir-by-path"):
        definition = {"index": {"fields": ["x"]}, "ddoc": ddoc, "name": "dir-children"}
        check_error(data("POST", "/_index", definition, FILES), 403, "forbidden")


def test_files_are_only_read(data: Callable[..., requests.Response]) -> None:
    root = data("GET", f"/{ROOT_ID}", doctype=FILES).json()
    assert (root["path"], root["_type"]) == ("/", FILES)
    found = data("POST", "/_find", {"selector": {"dir_id": ROOT_ID, "_id": {"$gt": ""}}}, FILES).json()
    assert [doc["name"] for doc in found["docs"]] == [".cozy_trash"]
    check_error(data("PUT", f"/{ROOT_ID}", root, FILES), 403, "forbidden")
    check_error(data("POST", "/", {"name": "x"}, FILES), 403, "forbidden")
    check_error(data("DELETE", f"/{ROOT_ID}?rev={root['_rev']}", doctype=FILES), 403, "forbidden")


@pytest.mark.parametrize("doctype", ["io.cozy.jobs", "io.cozy.permissions", "instances", "io.cozy.AI.chat.assistants"])
def test_other_doctypes_are_not_served(scoped: Callable[..., Client], doctype: str) -> None:
    check_error(scoped(f"{SCOPE} {doctype}").request("GET", f"/data/{doctype}/a"), 404, "not_found")
    check_error(scoped(f"{SCOPE} {doctype}").request("POST", f"/data/{doctype}/", json={}), 404, "not_found")
    check_error(scoped().request("GET", f"/data/{doctype}/a"), 403, "forbidden")


@pytest.mark.parametrize(
    ("scope", "method", "path", "body", "status"),
    [
        (f"{ASSISTANTS}:GET", "GET", "/A", None, 200),
        (f"{ASSISTANTS}:GET:A", "GET", "/A", None, 200),
        (f"{ASSISTANTS}:GET:B", "GET", "/A", None, 403),
        (f"{ASSISTANTS}:POST,PUT,DELETE", "GET", "/A", None, 403),
        (f"{ASSISTANTS}:GET:A", "POST", "/_find", {"selector": {"n": 0}}, 403),
        (f"{ASSISTANTS}:GET", "POST", "/_find", {"selector": {"n": 0}}, 200),
        (f"{ASSISTANTS}:POST", "POST", "/_find", {"selector": {"n": 0}}, 403),
        (f"{ASSISTANTS}:GET:A", "GET", "/_all_docs", None, 403),
        (f"{ASSISTANTS}:GET:A", "POST", "/_all_docs", {"keys": ["A"]}, 403),
        (f"{ASSISTANTS}:GET:A", "GET", "/_normal_docs", None, 403),
        (f"{ASSISTANTS}:GET:A", "POST", "/_index", {"index": {"fields": ["n"]}}, 403),
        (f"{ASSISTANTS}:GET", "POST", "/", {}, 403),
        (f"{ASSISTANTS}:POST", "POST", "/", {}, 201),
        (f"{ASSISTANTS}:POST", "PUT", "/new", {}, 200),
        (f"{ASSISTANTS}:POST:new", "PUT", "/new", {}, 200),
        (f"{ASSISTANTS}:PUT", "PUT", "/new", {}, 403),
        (f"{ASSISTANTS}:POST", "PUT", "/A", {"_rev": "1-a"}, 403),
        (f"{ASSISTANTS}:PUT:B", "PUT", "/A", {"_rev": "1-a"}, 403),
        (f"{ASSISTANTS}:PUT:A", "PUT", "/A", {"_rev": "1-a"}, 409),
        (f"{ASSISTANTS}:PUT", "DELETE", "/A?rev=1-a", None, 403),
        (f"{ASSISTANTS}:DELETE:A", "DELETE", "/A?rev=1-a", None, 409),
        (ACCOUNTS, "GET", "/A", None, 403),
        ("io.cozy.ai.*", "GET", "/A", None, 200),
    ],
)
def test_rights_by_verb_type_and_id(
    scoped: Callable[..., Client], three: list[str], scope: str, method: str, path: str, body: Any, status: int
) -> None:
    assert scoped(scope).request(method, PATH + path, json=body).status_code == status


def test_no_token_and_no_host(scoped: Callable[..., Client]) -> None:
    client = scoped()
    check_error(client.request("GET", f"{PATH}/A", headers={"Authorization": ""}), 401, "unauthorized")
    client.base_url = client.base_url.replace(client.instance.domain, "nobody.localhost")
    check_error(client.request("GET", f"{PATH}/A"), 404, "not_found")


def test_writes_are_told_as_events(data: Callable[..., requests.Response], scoped: Callable[..., Client]) -> None:
    with scoped().socket({"type": ASSISTANTS}) as socket:
        socket.sync()
        rev = data("PUT", "/a", {"name": "Cook"}).json()["rev"]
        rev = data("PUT", "/a", {"name": "Chef", "_rev": rev}).json()["rev"]
        last = data("DELETE", f"/a?rev={rev}").json()["rev"]
        told = [socket.receive() for _ in range(3)]
    assert [event["event"] for event in told] == ["CREATED", "UPDATED", "DELETED"]
    docs = [event["payload"]["doc"] for event in told]
    assert docs[1] == {"_id": "a", "_rev": rev, "name": "Chef"}
    assert docs[2] == {"_id": "a", "_rev": last, "_deleted": True}


def test_the_secret_of_an_account_is_sealed_and_never_told(
    data: Callable[..., requests.Response], scoped: Callable[..., Client], runtime: Runtime, instance: Instance
) -> None:
    account = {"account_type": "openai", "auth": {"login": "large", "password": ACCOUNT_KEY}, "data": {"model": "m"}}
    with scoped().socket({"type": ACCOUNTS}) as socket:
        socket.sync()
        made = data("POST", "/", account, ACCOUNTS)
        event = socket.receive()["payload"]["doc"]
    doc_id = made.json()["id"]
    stored = runtime.store.get(instance, ACCOUNTS, doc_id)
    sealed = stored["auth"]["credentials_encrypted"]
    assert ACCOUNT_KEY not in json.dumps(stored)
    opened = runtime.vault.open(sealed)
    assert (opened.login, opened.password) == ("large", ACCOUNT_KEY)

    answers = [
        made,
        data("GET", f"/{doc_id}", doctype=ACCOUNTS),
        data("POST", "/_find", {"selector": {"account_type": "openai"}}, ACCOUNTS),
        data("POST", "/_find", {"selector": {"account_type": "openai"}, "fields": ["auth"]}, ACCOUNTS),
        data("GET", "/_all_docs?include_docs=true", doctype=ACCOUNTS),
        data("POST", "/_all_docs?include_docs=true", {"keys": [doc_id]}, ACCOUNTS),
        data("GET", "/_normal_docs", doctype=ACCOUNTS),
    ]
    for told in [*(answer.text for answer in answers), json.dumps(event)]:
        assert '"large"' in told
        assert ACCOUNT_KEY not in told
        assert sealed not in told
        assert "encrypted" not in told

    changed = answers[1].json() | {"data": {"model": "n"}}
    assert data("PUT", f"/{doc_id}", changed, ACCOUNTS).json()["data"]["auth"] == {"login": "large"}
    assert runtime.store.get(instance, ACCOUNTS, doc_id)["auth"]["credentials_encrypted"] == sealed


def test_nobody_asks_for_the_secret_of_an_account(data: Callable[..., requests.Response]) -> None:
    for selector in ({"auth.password": {"$gt": "s"}}, {"auth": {"credentials_encrypted": {"$regex": "^b"}}}):
        check_error(data("POST", "/_find", {"selector": selector}, ACCOUNTS), 403, "forbidden")
    definition = {"index": {"fields": ["auth.password"]}}
    check_error(data("POST", "/_index", definition, ACCOUNTS), 403, "forbidden")


def test_without_a_key_a_secret_is_not_saved(runtime: Runtime, instance: Instance) -> None:
    config = runtime.config.model_copy(update={"vault": type(runtime.config.vault)()})
    app = create_app(Runtime(config), CeleryQueue(create_celery(config))).test_client()
    headers = {"Authorization": f"Bearer {create_token(instance, 'cli', 'test', ACCOUNTS)}"}
    url = f"http://{instance.domain}/data/{ACCOUNTS}/acc"
    refused = app.put(url, json={"auth": {"password": ACCOUNT_KEY}}, headers=headers)
    assert refused.status_code == 500
    assert "vault.credentials_encryptor_key" in refused.json["reason"]
    assert ACCOUNT_KEY not in refused.text
    with pytest.raises(NotFound):
        runtime.store.get(instance, ACCOUNTS, "acc")
    assert app.put(url, json={"auth": {"login": "l"}}, headers=headers).status_code == 200
