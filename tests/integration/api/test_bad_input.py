"""Bad input gets a clear JSON:API error, and nothing is saved."""

import json
import time
from typing import Any

import pytest
import requests

from ragcore.documents import CONVERSATIONS
from ragcore.errors import NotFound
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.files import new_instance

PATH = "/ai/chat/conversations/c1"


@pytest.fixture(scope="module")
def instance(runtime: Runtime) -> Instance:
    return new_instance(runtime)


def check_error(response: requests.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/vnd.api+json"
    (error,) = response.json()["errors"]
    assert error["status"] == str(status)
    assert error["title"]
    assert error["detail"]
    assert "Traceback" not in response.text
    return error


@pytest.fixture(autouse=True)
def _nothing_is_saved(runtime: Runtime, instance: Instance):
    yield
    with pytest.raises(NotFound):
        runtime.store.get(instance, CONVERSATIONS, "c1")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/q"),
        ({"q": None}, "/q"),
        ({"q": ""}, "/q"),
        ({"q": " \n\u2003"}, "/q"),
        ({"q": 3}, "/q"),
        ({"q": "x", "stream": "yes"}, "/stream"),
        ({"q": "x", "websearch": 1}, "/websearch"),
        ({"q": "x", "documents": "no"}, "/documents"),
        ({"q": "x", "instructions": "i" * 2001}, "/instructions"),
        ({"q": "x", "instructions": ["i"]}, "/instructions"),
        ({"q": "x", "assistantID": 1}, "/assistantID"),
        ({"q": "x", "attachmentIDs": "a"}, "/attachmentIDs"),
        ({"q": "x", "attachmentIDs": ["a", 2]}, "/attachmentIDs/1"),
        ({"q": "x", "attachmentIDs": ["a"], "documents": False}, "/attachmentIDs"),
        ([], ""),
        ("q", ""),
        (None, ""),
    ],
)
def test_a_wrong_field_is_pointed_at(client: Client, body: Any, pointer: str) -> None:
    assert check_error(client.post("c1", body), 400)["source"] == {"pointer": pointer}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"q=Hello", b'{"q": "\xff"}', b'{"q": NaN}', rb'{"q": "\ud800"}', b"[" * 100_000],
    ids=["empty", "open", "form", "not UTF-8", "NaN", "half a surrogate pair", "deep"],
)
def test_a_body_that_is_not_json(client: Client, body: bytes) -> None:
    check_error(client.request("POST", PATH, data=body), 400)


@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in chunks"])
def test_a_body_over_the_guard(client: Client, runtime: Runtime, chunked: bool) -> None:
    body = b'{"q": "' + b"x" * runtime.config.limits.body + b'"}'
    error = check_error(client.request("POST", PATH, data=iter([body]) if chunked else body), 413)
    assert error["detail"] == "the body is larger than the server takes"


def test_no_token(client: Client) -> None:
    response = client.request("POST", PATH, json={"q": "x"}, headers={"Authorization": ""})
    check_error(response, 401)
    assert "Bearer" in response.headers["WWW-Authenticate"]


@pytest.mark.parametrize("kind", ["garbage", "another instance's key", "expired", "of the future"])
def test_a_wrong_token(client: Client, instance: Instance, kind: str) -> None:
    other = Instance(instance.domain, instance.prefix, secrets=dict.fromkeys(("cli", "oauth"), b"x" * 64))
    scope = "io.cozy.ai.chat.conversations io.cozy.files"
    token = {
        "garbage": "garbage",
        "another instance's key": create_token(other, "cli", "x", scope),
        "expired": create_token(instance, "cli", "x", scope, clock=lambda: time.time() - 31 * 60),
        "of the future": create_token(instance, "cli", "x", scope, clock=lambda: time.time() + 3600),
    }[kind]
    check_error(client.request("POST", PATH, json={"q": "x"}, headers={"Authorization": f"Bearer {token}"}), 401)


@pytest.mark.parametrize(
    "scope",
    [
        "io.cozy.files",
        "io.cozy.ai.chat.conversations",
        "io.cozy.ai.chat.conversations:GET io.cozy.files",
        "io.cozy.ai.chat.conversations:POST:c1 io.cozy.files",
        "io.cozy.ai.chat.conversations io.cozy.files:GET:f1",
    ],
)
def test_a_scope_that_is_too_narrow(runtime: Runtime, instance: Instance, scope: str) -> None:
    narrow = Client(runtime.config.public_url(instance.domain), instance, scope)
    check_error(narrow.post("c1", {"q": "x"}), 403)


def test_an_unknown_host(client: Client) -> None:
    client.base_url = client.base_url.replace(client.instance.domain, "nobody.localhost")
    check_error(client.post("c1", {"q": "x"}), 404)


def test_a_wrong_method(client: Client) -> None:
    response = client.request("PUT", PATH, json={"q": "x"})
    check_error(response, 405)
    assert "POST" in response.headers["Allow"]


def test_an_unknown_route(client: Client) -> None:
    check_error(client.request("GET", "/nowhere"), 404)


def test_an_id_that_is_not_a_conversations(client: Client) -> None:
    check_error(client.post("_design", {"q": "x"}), 400)


@pytest.mark.parametrize(
    "change",
    [
        {"partition": "other.localhost"},
        {"status": "fine"},
        {"metadata": {}},
        {"metadata": {"doc_rev": "x"}},
        {"file_id": ""},
    ],
    ids=json.dumps,
)
def test_a_callback_that_is_not_ours(client: Client, instance: Instance, change: dict[str, Any]) -> None:
    body = {"partition": instance.domain, "file_id": "f1", "status": "success", "metadata": {"doc_rev": "1-a"}}
    check_error(client.request("POST", "/ai/index/status", json=body | change), 400)
