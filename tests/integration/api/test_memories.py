"""The routes of memories."""

from collections.abc import Callable
from typing import Any

import pytest

from ragcore.documents import MEMORIES
from ragcore.instances import Instance
from ragcore.memories import Memories, Memory
from ragcore.runtime import Runtime
from tests.support.api import Client

Api = Callable[..., Client]


@pytest.fixture
def api(runtime: Runtime, instance: Instance) -> Api:
    return lambda scope=MEMORIES: Client(runtime.config.public_url(instance.domain), instance, scope)


@pytest.fixture
def remember(runtime: Runtime, instance: Instance) -> Callable[..., Memory]:
    memories = Memories(runtime.store, runtime.config, instance)
    return lambda text, asked=True: memories.remember(text, 0.9, {"conversationId": "c"}, asked=asked)


def listed(client: Client, status: str = "") -> list[str]:
    response = client.request("GET", "/api/memories", params={"status": status} if status else {})
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["meta"]["count"] == len(body["data"])
    return [each["attributes"]["text"] for each in body["data"]]


def test_the_review_inbox(api: Api, remember: Callable[..., Memory]) -> None:
    client = api()
    assert listed(client) == []
    remember("Ada lives in Oslo")
    cats, tea = remember("Ada has two cats", asked=False), remember("Ada likes tea", asked=False)
    assert listed(client, "pending") == ["Ada likes tea", "Ada has two cats"]
    assert listed(client) == ["Ada likes tea", "Ada has two cats", "Ada lives in Oslo"]
    approved = client.request("POST", f"/api/memories/{cats.id}/approve")
    assert approved.status_code == 200
    data = approved.json()["data"]
    assert (data["type"], data["id"], data["links"]) == (MEMORIES, cats.id, {"self": f"/api/memories/{cats.id}"})
    assert data["attributes"]["status"] == "active"
    assert data["attributes"]["source"] == {"conversationId": "c"}
    assert client.request("POST", f"/api/memories/{tea.id}/reject").json()["data"]["attributes"]["status"] == "rejected"
    assert listed(client, "active") == ["Ada has two cats", "Ada lives in Oslo"]
    assert (listed(client, "pending"), listed(client, "rejected")) == ([], ["Ada likes tea"])


def test_a_memory_is_written_in_other_words_and_deleted(api: Api, remember: Callable[..., Memory]) -> None:
    client, memory = api(), remember("Ada lives in Oslo")
    path = f"/api/memories/{memory.id}"
    changed = client.request("PATCH", path, json={"text": "Ada lives in Bergen"})
    assert (changed.status_code, changed.json()["data"]["attributes"]["text"]) == (200, "Ada lives in Bergen")
    assert client.request("DELETE", path).status_code == 204
    assert listed(client) == []
    for method, below in (("PATCH", ""), ("DELETE", ""), ("POST", "/approve"), ("POST", "/reject")):
        assert client.request(method, path + below, json={"text": "x"}).status_code == 404


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": 7}, {"text": "x" * 2001}, [], None])
def test_what_is_no_text(api: Api, remember: Callable[..., Memory], body: Any) -> None:
    response = api().request("PATCH", f"/api/memories/{remember('Ada lives in Oslo').id}", json=body)
    assert response.status_code == 400
    assert response.json()["errors"][0]["source"]["pointer"] == ("/text" if isinstance(body, dict) else "")


def test_an_unknown_status(api: Api) -> None:
    assert api().request("GET", "/api/memories", params={"status": "lost"}).status_code == 400


def test_a_right_on_one_memory_is_for_that_one(api: Api, remember: Callable[..., Memory]) -> None:
    ours, other = remember("Ada lives in Oslo", asked=False), remember("Ada has two cats", asked=False)
    client = api(f"{MEMORIES}:ALL:{ours.id}")
    assert client.request("POST", f"/api/memories/{ours.id}/approve").status_code == 200
    assert client.request("POST", f"/api/memories/{other.id}/approve").status_code == 403
    assert client.request("GET", "/api/memories").status_code == 403


def test_the_data_routes_read_memories_and_write_none(api: Api, remember: Callable[..., Memory]) -> None:
    client, memory = api(), remember("Ada lives in Oslo", asked=False)
    assert client.request("GET", f"/data/{MEMORIES}/{memory.id}").json()["text"] == "Ada lives in Oslo"
    doc = {"_rev": memory.rev, **memory.attributes(), "status": "active"}
    assert client.request("PUT", f"/data/{MEMORIES}/{memory.id}", json=doc).status_code == 403
    assert client.request("POST", f"/data/{MEMORIES}/", json=memory.attributes()).status_code == 403


def test_each_write_is_an_event(api: Api, remember: Callable[..., Memory]) -> None:
    client = api()
    with client.socket({"type": MEMORIES}) as socket:
        socket.sync()
        memory = remember("Ada lives in Oslo", asked=False)
        client.request("POST", f"/api/memories/{memory.id}/approve")
        client.request("DELETE", f"/api/memories/{memory.id}")
        heard = [socket.receive() for _ in range(3)]
    assert [message["event"] for message in heard] == ["CREATED", "UPDATED", "DELETED"]
    assert [message["payload"]["doc"].get("status") for message in heard[:2]] == ["pending", "active"]
    assert {message["payload"]["id"] for message in heard} == {memory.id}
