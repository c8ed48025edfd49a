"""The conversations of all surfaces, and what they cite."""

from typing import Any

import pytest

from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.chat import Answerer
from tests.support.files import new_instance
from tests.support.sandbox import Sandbox

PATH = "/api/rag/conversations"

Json = dict[str, Any]


@pytest.fixture
def client(runtime: Runtime, instance: Instance) -> Client:
    return Client(runtime.config.public_url(instance.domain), instance, "io.cozy.*")


def got(client: Client, path: str, **params: Any) -> Json:
    response = client.request("GET", path, params=params)
    assert response.status_code == 200, response.text
    body: Json = response.json()
    return body


def conversation(doc_id: str, updated: str, *messages: Json, **fields: Any) -> Json:
    metadata = {"createdAt": "2026-01-01", "updatedAt": updated}
    return {"_id": doc_id, "messages": list(messages), "cozyMetadata": metadata, **fields}


def question(content: str) -> Json:
    return {"id": "q", "role": "user", "content": content}


def answer(created: str, *sources: Json) -> Json:
    return {"id": f"a{created}", "role": "assistant", "content": "A", "sources": list(sources), "createdAt": created}


def test_there_are_none(client: Client) -> None:
    assert got(client, PATH) == {"conversations": [], "next": None}
    assert got(client, "/api/rag/sources") == {"sources": []}


def test_those_of_all_surfaces_are_listed_the_newest_first(
    client: Client, runtime: Runtime, instance: Instance, answerer: Answerer
) -> None:
    answerer.ask("of-the-chat", q="Of the chat?", documents=False, assistantID="a1")
    asked = client.request("POST", "/api/rag/ask", json={"question": "Of ask?", "conversationId": "of-ask"})
    assert asked.status_code == 200
    runtime.store.save(instance, CONVERSATIONS, conversation("old", "2020-01-01", name="Old", surface="agent"))
    runtime.store.save(instance, CONVERSATIONS, {"_id": "without-a-date"})
    found = got(client, PATH)["conversations"]
    assert [(c["id"], c["title"], c["surface"]) for c in found] == [
        ("of-ask", "Of ask?", "ask"), ("of-the-chat", "Of the chat?", "chat"), ("old", "Old", "agent"),
    ]  # fmt: skip
    assert [c.get("assistantID") for c in found] == [None, "a1", None]
    assert all(c["updatedAt"] and c["createdAt"] for c in found)
    assert not [c for c in found if "messages" in c]


def test_pages(client: Client, runtime: Runtime, instance: Instance) -> None:
    docs = [conversation(f"c{n}", f"2026-01-0{n}", question(f"Q{n}")) for n in range(1, 6)]
    runtime.store.save_all(instance, CONVERSATIONS, docs)
    seen, bookmark = [], None
    while True:
        page = got(client, PATH, limit=2, **({"bookmark": bookmark} if bookmark else {}))
        seen.append([c["title"] for c in page["conversations"]])
        bookmark = page["next"]
        if not bookmark:
            break
    assert seen == [["Q5", "Q4"], ["Q3", "Q2"], ["Q1"]]
    for limit in ("0", "-1", "x", "1.5"):
        assert client.request("GET", PATH, params={"limit": limit}).status_code == 400


def test_one_is_shown_renamed_and_deleted(client: Client, runtime: Runtime, instance: Instance) -> None:
    doc = conversation("c1", "2026-01-01", question("How?"), answer("2026-01-01"), surface="ask", mine="kept")
    runtime.store.save(instance, CONVERSATIONS, doc)
    shown = got(client, f"{PATH}/c1")
    assert (shown["title"], shown["surface"], len(shown["messages"])) == ("How?", "ask", 2)
    renamed = client.request("PATCH", f"{PATH}/c1", json={"title": "Boilers"})
    assert (renamed.status_code, renamed.json()["title"]) == (200, "Boilers")
    saved = runtime.store.get(instance, CONVERSATIONS, "c1")
    assert (saved["name"], saved["mine"]) == ("Boilers", "kept")  # `name` is what the chat page shows
    assert got(client, PATH)["conversations"][0]["title"] == "Boilers"
    assert client.request("PATCH", f"{PATH}/c1", json={"title": ""}).status_code == 400
    assert client.request("DELETE", f"{PATH}/c1").status_code == 204
    for method in ("GET", "PATCH", "DELETE"):
        assert client.request(method, f"{PATH}/c1", json={"title": "A"}).status_code == 404
    assert client.request("PATCH", f"{PATH}/_design%2Fx", json={"title": "A"}).status_code == 404


def test_a_deletion_stops_the_answer(client: Client, sandbox: Sandbox, until: Any) -> None:
    sandbox.script({"content": "begun"}, {"sleep": 20})
    client.ask("Hello", "c1", documents=False)
    until(lambda: sandbox.completions())
    assert client.request("DELETE", f"{PATH}/c1").status_code == 204
    until(lambda: sandbox.calls("/v1/chat/completions")[-1]["closed_early"])
    assert client.request("GET", f"{PATH}/c1").status_code == 404


def test_the_last_citations_of_all_conversations(client: Client, runtime: Runtime, instance: Instance) -> None:
    cited, given = {"id": "f1", "cited": True, "number": 1}, {"id": "f2", "cited": False, "number": 2}
    first = conversation("c1", "2026-01-05", question("One?"), answer("2026-01-01", cited, given),
                         answer("2026-01-05", {"id": "f5", "cited": True}))  # fmt: skip
    second = conversation("c2", "2026-01-03", question("Two?"), answer("2026-01-03", {"id": "f3"}), {"role": 3}, "x")
    runtime.store.save_all(instance, CONVERSATIONS, [first, second])
    found = got(client, "/api/rag/sources")["sources"]
    assert [(source["id"], source["citedAt"]) for source in found] == [
        ("f5", "2026-01-05"), ("f3", "2026-01-03"), ("f1", "2026-01-01"),
    ]  # fmt: skip
    assert found[1]["conversation"] == {"id": "c2", "title": "Two?"}
    assert [source["id"] for source in got(client, "/api/rag/sources", limit=2)["sources"]] == ["f5", "f3"]


def test_what_clients_wrote_oddly(client: Client, runtime: Runtime, instance: Instance) -> None:
    undated = {"role": "assistant", "content": "A", "sources": [{"id": "f1"}], "createdAt": {"a": 1}}
    docs = [conversation("c1", "2026-01-05", undated, surface=5),
            conversation("c2", "2026-01-03", answer("2026-01-03", {"id": "f2"}))]  # fmt: skip
    runtime.store.save_all(instance, CONVERSATIONS, docs)
    assert got(client, f"{PATH}/c1")["surface"] == "chat"
    assert [source["id"] for source in got(client, "/api/rag/sources")["sources"]] == ["f2", "f1"]


def test_nothing_of_another_instance(client: Client, runtime: Runtime) -> None:
    other = new_instance(runtime, "other")
    runtime.store.save(other, CONVERSATIONS, conversation("c1", "2026-01-01", question("Secret?"), answer("2026")))
    assert got(client, PATH)["conversations"] == []
    assert client.request("GET", f"{PATH}/c1").status_code == 404
