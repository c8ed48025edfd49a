"""Ids that are steps of a path, parts of a URL, or no text that anybody would choose."""

import http.client
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest
from flask.testing import FlaskClient

from api.app import create_app
from ragcore import loopback
from ragcore.documents import ACCOUNTS, ASSISTANTS, CONVERSATIONS, FILES, ROOT_ID
from ragcore.indexing.status import callback_token
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from ragcore.store import prefix_of
from ragcore.units import without_password
from ragcore.wire import Answer
from tests.integration.doors.routes import DOORS, VALUES, Door
from tests.support.api import Client
from tests.support.chat import Answerer, objects
from tests.support.indexing import Indexer
from tests.support.queue import Recorded
from tests.support.sandbox import Sandbox

SECRET = "nobody-else-reads-this"  # noqa: S105
LEAK = re.compile(rf"{SECRET}|_secret|root:|create_app")  # another's documents, instances, files of the machine
IDS = [
    "..",
    ".",
    "../x",
    "../../x",
    "a/../../x",
    "/",
    "//x/y",
    "a?b=c",
    "a#b",
    "a\nb",
    "a\r\nHost: x\r\n\r\n",
    "a\0b",
    "%",
    "%2e%2e%2f",
    "..%2F..%2Fx",
    "a b",
    "é🗄",
    "\ud800",
    "x" * 3000,
    "_all_docs",
    "_design/../../x",
    "_design/%2e%2e/x",
    "_local/../x",
    "_local/checkpoint",
    "_changes",
    "..\\x",
    "a;b=c",
    "http://127.0.0.1:1/",
]
ODD_DOORS = [
    (door, name) for door in DOORS for name in VALUES if name in door.rule and name not in ("<doctype>", "<path:rest>")
]


@pytest.fixture(scope="module")
def other(runtime: Runtime) -> Instance:
    """With something to be read, under an id that is asked for everywhere."""
    made = runtime.instances.add("others-of-ids.localhost")
    for doctype in (ASSISTANTS, CONVERSATIONS, FILES):
        runtime.store.save(made, doctype, {"_id": "x", "name": SECRET, "type": "file", "messages": []})
    return made


class Sent:
    """The requests of a runtime of its own, to the document database and to openRAG, as they were sent."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = Runtime(runtime.config)
        self.urls: list[str] = []
        self.runtime.session.hooks["response"].append(lambda response, **_: self.urls.append(str(response.request.url)))
        database = self.runtime.store.server.resource.session
        request = database.request

        def noted(method: str, url: str, **more: Any) -> Answer:
            self.urls.append(url)
            return request(method, url, **more)

        database.request = noted  # type: ignore[method-assign]

    def check(self, instance: Instance, asked: str) -> None:
        """Each is of a database, or of the partition, of the instance; an id in it is one step of the path."""
        config = self.runtime.config
        database, openrag = (
            urlsplit(without_password(url)).netloc for url in (config.couchdb.url, config.rag["default"].url)
        )
        for url in self.urls:
            parts = urlsplit(url)
            steps = [unquote(step, errors="replace") for step in parts.path.split("/")[1:]]
            assert not parts.fragment, (asked, url)
            assert not {"", ".", ".."} & set(steps), (asked, url)
            assert parts.netloc in (database, openrag), (asked, url)
            fine = _is_of_database if parts.netloc == database else _is_of_partition
            assert fine(instance, steps), (asked, url)
        self.urls.clear()


def _is_of_database(instance: Instance, steps: list[str]) -> bool:
    owner, _, doctype = steps[0].partition("/")
    if owner not in (prefix_of(instance.prefix), "global") or "/" in doctype:
        return False
    return len(steps) <= 2 or steps[1] in ("_local", "_design")


def _is_of_partition(instance: Instance, steps: list[str]) -> bool:
    of_partition = (["partition", instance.domain], ["indexer", "partition", instance.domain])
    return steps[0] in ("extract", "v1") or any(steps[: len(start)] == start for start in of_partition)


@pytest.fixture(scope="module")
def sent(runtime: Runtime) -> Sent:
    return Sent(runtime)


@pytest.fixture(scope="module")
def app(sent: Sent) -> FlaskClient:
    return create_app(sent.runtime, Recorded()).test_client()


@pytest.fixture(scope="module")
def instance(runtime: Runtime) -> Iterator[Instance]:
    """What was asked here and not answered is not handed to the queue while others count what the LLM is asked."""
    made = runtime.instances.add("ours-of-ids.localhost")
    yield made
    lines = list(runtime.redis.scan_iter(f"ragcore:line:{{{made.domain}}}:*", count=1000))
    runtime.redis.delete(*lines)


def encoded(value: str) -> list[str]:
    once = quote(value, safe="", errors="surrogatepass")
    return [once, quote(once, safe=""), once.replace("%2F", "/")]


@pytest.mark.parametrize(("door", "name"), ODD_DOORS, ids=lambda part: getattr(part, "name", part))
def test_an_id_is_one_step_whatever_it_is(
    app: FlaskClient, sent: Sent, instance: Instance, other: Instance, door: Door, name: str
) -> None:
    """On every route of the API: an error that is told, nothing of another instance, no other request of ours."""
    token = create_token(instance, "access", "x", "io.cozy.*")
    headers = {"Host": instance.domain, "Authorization": f"Bearer {token}"}
    for value in IDS:
        for written in encoded(value):
            path = Door(door.method, door.rule.replace(name, written), ()).path
            response = app.open(path, method=door.method, json=door.body, headers=headers)
            told = response.get_data(as_text=True)
            assert response.status_code < 500, (path, told)
            assert not LEAK.search(told), path
            if response.status_code >= 400:
                assert response.get_json(force=True)["errors"][0]["status"] == str(response.status_code), path
            sent.check(instance, path)


# as they come over a connection, without a client that tidies them up


LINES = [
    "/../../global/instances",
    "/%2e%2e/%2e%2e/global%2finstances/x",
    f"/data/{ASSISTANTS}/../{CONVERSATIONS}/x",
    f"/data/{ASSISTANTS}/%2e%2e/{CONVERSATIONS}/x",
    f"/data/{ASSISTANTS}%2f..%2f{CONVERSATIONS}/x",
    f"/data/{ASSISTANTS}%3f/x",
    f"/data/../files/{ROOT_ID}",
    "/files/..;/x",
    "/files/a%23b",
    "/files/a#b",
    "/files/%ff%fe",
    "/files/%",
    "/files/%zz",
    "/files/download/..%2f..%2fetc%2fpasswd",
    "/ai/extract/..%2f..%2fpartition%2fx",
    "/ai/extract/a%0d%0aHost:%20x",
    "/static/..%2f..%2f..%2fetc%2fpasswd",
    "/static/%2e%2e/%2e%2e/api/app.py",
    "//global/instances",
    "http://127.0.0.1:1/files/x",
    "*",
]


@pytest.mark.parametrize("line", LINES)
def test_a_path_as_it_is_sent(client: Client, sandbox: Sandbox, instance: Instance, other: Instance, line: str) -> None:
    url, host = loopback.resolve(client.base_url)
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    connection.putrequest("GET", line, skip_host=True)
    token = create_token(instance, "access", "x", "io.cozy.*")
    connection.putheader("Host", host)
    connection.putheader("Authorization", f"Bearer {token}")
    connection.endheaders()
    response = connection.getresponse()
    told = response.read().decode(errors="replace")
    connection.close()
    assert 400 <= response.status < 500 or line == f"/data/../files/{ROOT_ID}" or "text/html" in str(response.headers)
    assert not LEAK.search(told)
    assert {call["path"] for call in sandbox.calls() if call["path"] != "/health_check"} <= {"/extract/a\r\nHost: x"}


# in the bodies, and in the documents that workers read


def walk(dir_id: str) -> dict[str, str]:
    return {"doctype": FILES, "reconcile_dir_id": dir_id}


BODIES: dict[str, Callable[[str], tuple[str, str, Any]]] = {
    "an assistant": lambda odd: ("POST", "/ai/chat/conversations/c1", {"q": "Hello", "assistantID": odd}),
    "an attachment": lambda odd: ("POST", "/ai/chat/conversations/c2", {"q": "Hello", "attachmentIDs": [odd]}),
    "the message of a result": lambda odd: (
        "POST", "/ai/chat/conversations/c3", {"result": {"messageID": odd, "ok": True}}),
    "the keys of files": lambda odd: ("POST", "/files/_all_docs", {"keys": [odd]}),
    "the keys of documents": lambda odd: ("POST", f"/data/{ASSISTANTS}/_all_docs", {"keys": [odd]}),
    "a chosen id": lambda odd: ("PUT", f"/data/{ASSISTANTS}/d", {"_id": odd, "name": "A"}),
    "an id in a selector": lambda odd: ("POST", f"/data/{ASSISTANTS}/_find", {"selector": {"_id": odd}}),
    "an index": lambda odd: ("POST", f"/data/{ASSISTANTS}/_index", {"index": {"fields": ["n"]}, "ddoc": odd}),
    "an index that is used": lambda odd: (
        "POST", f"/data/{ASSISTANTS}/_find", {"selector": {"n": 1}, "use_index": odd}),
    "a folder to walk": lambda odd: (
        "POST", "/jobs/queue/rag-index", {"data": {"attributes": {"arguments": walk(odd)}}}),
    "the folder of a trigger": lambda odd: (
        "POST", "/jobs/triggers", {"data": {"attributes": {
            "type": "@every", "arguments": "24h", "worker": "rag-index", "message": walk(odd)}}}),
    "a message that is followed": lambda odd: (
        "GET", f"/ai/chat/conversations/c1/events?message={quote(odd, safe='')}", None),
}  # fmt: skip


@pytest.mark.parametrize("kind", BODIES)
def test_an_id_in_a_body(app: FlaskClient, sent: Sent, instance: Instance, other: Instance, kind: str) -> None:
    token = create_token(instance, "access", "x", "io.cozy.*")
    headers = {"Host": instance.domain, "Authorization": f"Bearer {token}"}
    for odd in IDS:
        if odd == "\ud800" and kind == "a message that is followed":
            continue
        method, path, body = BODIES[kind](odd)
        response = app.open(path, method=method, json=body, headers=headers, buffered=method == "POST")
        told = response.get_data(as_text=True) if response.status_code != 200 or method == "POST" else ""
        response.close()
        assert response.status_code < 500, (kind, odd, told)
        assert not LEAK.search(told), (kind, odd)
        sent.check(instance, odd)


def callbacks(instance: Instance) -> Iterator[tuple[Any, str]]:
    """Bodies, and the token of their file."""
    fine = {"partition": instance.domain, "file_id": "f", "status": "success", "metadata": {"doc_rev": "1-a"}}
    for name, odd in itertools.product(("file_id", "partition"), IDS):
        text = odd.encode(errors="ignore").decode()
        yield fine | {name: odd}, callback_token(instance, text if name == "file_id" else "f")
    yield fine | {"metadata": {"doc_rev": "../../x"}}, callback_token(instance, "f")


def test_a_callback(app: FlaskClient, sent: Sent, instance: Instance, other: Instance) -> None:
    for body, token in callbacks(instance):
        headers = {"Host": instance.domain, "Authorization": f"Bearer {token}"}
        response = app.post("/ai/index/status", json=body, headers=headers)
        assert response.status_code in (204, 400, 401), (json.dumps(body)[:200], response.text)
        assert body["partition"] == instance.domain or response.status_code == 400
        sent.check(instance, body["file_id"])


ODD_IN_DOCUMENTS = [odd for odd in IDS if odd != "\ud800"]


def test_ids_that_stand_in_documents(
    sent: Sent, instance: Instance, other: Instance, until: Callable[..., Any]
) -> None:
    """An assistant's folder, and its account: the folder is not indexed, the account is none."""
    store, answerer = sent.runtime.store, Answerer(sent.runtime, instance)
    for odd in ODD_IN_DOCUMENTS:
        knowledge = {"knowledgeBase": {"data": [{"_id": odd, "_type": FILES}]}}
        provider = {"provider": {"data": {"_id": odd, "_type": ACCOUNTS}}}
        folder = store.save(instance, ASSISTANTS, {"relationships": knowledge})
        account = store.save(instance, ASSISTANTS, {"relationships": provider})
        first = answerer.ask(folder["_id"], q="Hello", assistantID=folder["_id"])
        second = answerer.ask(account["_id"], q="Hello", assistantID=account["_id"])
        answerer.run()
        assert objects(answerer.events(first)) == ["error"], odd
        assert answerer.events(first)[0]["code"] == "not_indexed", odd
        assert objects(answerer.events(second))[-1] == "done", odd
        sent.check(instance, odd)
    indexer = Indexer(sent.runtime, instance, until)
    indexer.read_feed()
    for odd in ODD_IN_DOCUMENTS:
        indexer.walk_folder(odd)
    sent.check(instance, "a walk")
    assert indexer.openrag.workspaces() in (None, set())
