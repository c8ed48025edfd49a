"""GET /ai/extract/:id, the passage behind a source."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from ragcore.documents import FILES
from ragcore.instances import Instance
from ragcore.openrag import Upload
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.sandbox import Sandbox

TEXT = "The boiler has a yellow gas valve."
Passage = Callable[[Instance], str]


@pytest.fixture
def passage(runtime: Runtime, sandbox: Sandbox, until: Callable[..., Any]) -> Passage:
    """Gives an instance a file on openRAG: the id of its passage, as the sources of an answer name it."""

    def index(instance: Instance) -> str:
        openrag = runtime.openrag(instance)
        openrag.create_partition()
        metadata = {"doctype": FILES, "name": "boiler.txt", "md5sum": "m"}
        openrag.create_file(
            Upload("f", "boiler.txt", io.BytesIO(TEXT.encode()), "text/plain", metadata, "http://127.0.0.1:1/", "t")
        )
        until(lambda: openrag.file_metadata("f"))
        client = Client(runtime.config.public_url(instance.domain), instance)
        _, question_id = client.ask("Where is the gas valve of the boiler?")
        (source,) = next(event["content"] for event in client.events(question_id) if event["object"] == "sources")
        return str(source["chunkUrl"]).rpartition("/extract/")[2]

    return index


def test_a_passage_is_that_of_openrag(client: Client, instance: Instance, passage: Passage) -> None:
    response = client.request("GET", f"/ai/extract/{passage(instance)}")
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    found = response.json()
    assert set(found) == {"page_content", "metadata"}
    assert TEXT in found["page_content"]
    expected = {"partition": instance.domain, "file_id": "f", "filename": "boiler.txt", "page": 1, "doctype": FILES}
    assert {key: found["metadata"].get(key) for key in expected} == expected


def test_that_of_another_instance_is_none(client: Client, runtime: Runtime, passage: Passage) -> None:
    other = runtime.instances.add(f"other-{client.instance.domain}")
    assert client.request("GET", f"/ai/extract/{passage(other)}").status_code == 404


@pytest.mark.parametrize("passage_id", ["unknown", "%2E%2E", "a%3Fb", "..%2Fhealth_check", "%C3%A9"])
def test_what_is_no_passage(client: Client, sandbox: Sandbox, passage_id: str) -> None:
    response = client.raw("GET", f"/ai/extract/{passage_id}")
    assert response.status_code == 404
    assert response.json()["errors"][0]["status"] == "404"
    assert sandbox.calls("/health_check") == []


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ({"status": 403, "body": '{"detail": "not yours"}'}, 404),
        ({"status": 404, "body": '{"detail": "none"}'}, 404),
        ({"status": 404, "body": "<html>no such site</html>"}, 502),
        ({"status": 200, "body": '{"page_content": "x", "metadata": {}}'}, 404),
        ({"status": 500, "body": "oops"}, 502),
        ({"status": 429, "body": "slow down"}, 502),
        ({"cut": True}, 502),
    ],
)
def test_what_openrag_says_instead(client: Client, sandbox: Sandbox, fault: dict[str, Any], status: int) -> None:
    sandbox.fault(route="/extract/", times=3, **fault)  # a GET that is cut is sent again
    response = client.request("GET", "/ai/extract/1")
    assert response.status_code == status
    assert response.json()["errors"][0]["detail"]


def test_the_permissions_are_those_of_a_chat(client: Client, sandbox: Sandbox, instance: Instance) -> None:
    narrow = create_token(instance, "cli", "test", "io.cozy.ai.chat.conversations")
    for token, status in (("", 401), (narrow, 403)):
        headers = {"Authorization": f"Bearer {token}"}
        assert client.request("GET", "/ai/extract/1", headers=headers).status_code == status
    assert sandbox.calls("/extract/") == []
