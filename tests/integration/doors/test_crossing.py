"""Nothing of one instance reaches another (rule 12): two of them, with the same ids where that can be."""

import io
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from ragcore.documents import ASSISTANTS, CONVERSATIONS, FILES, MEMORIES, STATUSES
from ragcore.events import CHAT_EVENTS, Event
from ragcore.indexing.status import callback_token
from ragcore.instances import Instance
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.memories import Memories
from ragcore.openrag import Upload
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.integration.doors.routes import DOORS, VALUES, Door
from tests.support.api import Client, question_of
from tests.support.files import Drive, new_instance
from tests.support.sandbox import Sandbox

EVERYTHING = "io.cozy.*"
SECRET = "The key lies under the fourth flowerpot"  # noqa: S105
TRIGGER = {"type": "@every", "arguments": "24h", "worker": "rag-index", "message": {"doctype": FILES}}


@dataclass
class Person:
    """An instance with one of each thing; `ids` are theirs, by the variables of the rules."""

    instance: Instance
    client: Client
    ids: dict[str, str]
    question: str


@pytest.fixture(scope="module")
def people(runtime: Runtime, until: Callable) -> tuple[Person, Person]:
    return _person(runtime, "anna", until), _person(runtime, "bert", until)


def _person(runtime: Runtime, name: str, until: Callable) -> Person:
    instance = new_instance(runtime, name)
    client = Client(runtime.config.public_url(instance.domain), instance, EVERYTHING)
    client.token = create_token(instance, "access", "test", EVERYTHING)
    drive = Drive(runtime, instance)
    folder = drive.folder(f"/{name}s papers")
    file = drive.file(f"/{name}s papers/{name}.txt", f"{SECRET}, says {name}.")
    conversation, question = client.ask(f"{SECRET}, asks {name}", documents=False)
    client.events(question)
    job = {"data": {"attributes": {"arguments": {"doctype": FILES}}}}
    trigger = client.request("POST", "/jobs/triggers", json={"data": {"attributes": TRIGGER}})
    memory = Memories(runtime.store, runtime.config, instance).remember(f"{SECRET}, knows {name}", 1, {}, asked=True)
    ids = {
        "<file_id>": file["_id"],
        "<memory_id>": memory.id,
        "<dir_id>": folder.id,
        "<conversation_id>": conversation,
        "<doc_id>": drive.assistant(prompt=SECRET),
        "<job_id>": client.request("POST", "/jobs/queue/rag-index", json=job).json()["data"]["id"],
        "<trigger_id>": trigger.json()["data"]["id"],
        "<passage_id>": _passage(runtime, instance, file["_id"], until),
    }
    return Person(instance, client, ids | {"<path:doc_id>": ids["<doc_id>"]}, question)


def _passage(runtime: Runtime, instance: Instance, file_id: str, until: Callable) -> str:
    openrag = runtime.openrag(instance)
    openrag.create_partition()
    content = io.BytesIO(f"{SECRET}, {instance.domain}.".encode())
    metadata = {"doctype": FILES, "md5sum": "m"}
    openrag.create_file(Upload(file_id, "a.txt", content, "text/plain", metadata, "http://127.0.0.1:1/", "t"))
    until(lambda: openrag.file_metadata(file_id))
    body = {"model": f"openrag-{instance.domain}", "messages": [{"role": "user", "content": "Where is the flowerpot?"}]}
    server = runtime.config.rag["default"]
    headers = {"Authorization": f"Bearer {server.api_key.get_secret_value()}"}
    answer = requests.post(f"{server.url}/v1/chat/completions", json=body, headers=headers, timeout=20)
    extra = answer.json()["extra"]
    (source, *_) = (json.loads(extra) if isinstance(extra, str) else extra)["sources"]
    return str(source["chunk_url"]).rpartition("/")[2]


PARAMS = {"Type": "directory", "Name": "new", "rev": "1-a"}  # without which some routes do not look for the id
NAMED = [door for door in DOORS if any(name in door.rule for name in VALUES if name not in ("<doctype>", "<worker>"))]
MADE = ("PUT /data/<doctype>/<path:doc_id>", "POST /ai/chat/conversations/<conversation_id>",
        "POST /realtime/<doctype>/<doc_id>")  # the id is the client's own to choose: theirs comes to be  # fmt: skip


def _state(runtime: Runtime, instance: Instance) -> list[Any]:
    kinds = (ASSISTANTS, CONVERSATIONS, FILES, MEMORIES, STATUSES, JOBS, "io.cozy.triggers")
    return [
        (kind, doc["_id"], doc["_rev"] if kind != JOBS else "")  # a job goes on
        for kind in kinds
        for doc in runtime.store.all(instance, kind)
    ]


@pytest.mark.parametrize("door", NAMED, ids=lambda door: door.name)
def test_the_ids_of_others_are_unknown(runtime: Runtime, people: tuple[Person, Person], door: Door) -> None:
    ours, theirs = people
    before = _state(runtime, theirs.instance)
    path = door.rule
    for name, value in {**VALUES, **theirs.ids}.items():
        path = path.replace(name, value)
    client = ours.client
    if door.name in MADE:  # in an instance that no other test looks at
        other = new_instance(runtime, "made")
        client = Client(runtime.config.public_url(other.domain), other, EVERYTHING)
    response = client.request(door.method, path, json=door.body, params=PARAMS)
    assert SECRET not in response.text
    assert "bert" not in response.text.replace(theirs.instance.domain, "")
    assert response.status_code in ((200, 202, 204) if door.name in MADE else (404,))
    assert _state(runtime, theirs.instance) == before


def test_lists_are_of_one_s_own(people: tuple[Person, Person]) -> None:
    ours, theirs = people
    keys = [value for name, value in theirs.ids.items() if name != "<passage_id>"]  # that is a number
    asked: list[tuple[str, str, Any]] = [
        ("POST", "/files/_all_docs", {"keys": keys}),
        ("GET", "/jobs/triggers", None),
        ("GET", "/jobs/queue/rag-index", None),
        ("GET", "/api/memories", None),
        *(("POST", f"/data/{kind}/_all_docs?include_docs=true", {"keys": keys}) for kind in (ASSISTANTS, FILES)),
        *(("POST", f"/data/{kind}/_find", {"selector": {"_id": {"$gt": None}}}) for kind in (CONVERSATIONS, FILES)),
        *(
            ("GET", f"/data/{kind}/_normal_docs", None)
            for kind in (ASSISTANTS, CONVERSATIONS, FILES, MEMORIES, STATUSES)
        ),
    ]
    for method, path, body in asked:
        response = ours.client.request(method, path, json=body)
        assert response.status_code == 200, path
        assert "bert" not in response.text, path
        rows = response.json().get("rows", [])
        found = json.dumps([row for row in rows if not row.get("error")] if rows else response.json())
        assert not [key for key in keys if key in found], path


def test_tokens_and_links_open_one_instance_alone(people: tuple[Person, Person]) -> None:
    ours, theirs = people
    path = f"/files/download/{theirs.ids['<file_id>']}"
    assert theirs.client.request("GET", path).text == f"{SECRET}, says bert."
    for sent in ({"headers": {"Authorization": f"Bearer {theirs.client.token}"}},
                 {"headers": {"Authorization": ""}, "params": {"bearer_token": theirs.client.token}}):  # fmt: skip
        response = ours.client.request("GET", path, **sent)
        assert response.status_code == 401
        assert SECRET not in response.text


def test_attachments_and_assistants_of_others(people: tuple[Person, Person], sandbox: Sandbox) -> None:
    """The attachment goes to our own partition, where nobody has it; the assistant is none."""
    ours, theirs = people
    _, question = ours.client.ask("Where?", attachmentIDs=[theirs.ids["<file_id>"]])
    assert SECRET not in json.dumps(ours.client.events(question))
    assert {body["model"] for body in sandbox.completions()} == {f"openrag-{ours.instance.domain}"}
    response = ours.client.post("theirs", {"q": "Where?", "assistantID": theirs.ids["<doc_id>"]})
    (event,) = ours.client.events(question_of(response))
    assert event["code"] == "assistant_not_found"
    assert len(sandbox.completions()) == 1


def test_a_source_of_another_partition_is_not_told(
    people: tuple[Person, Person], runtime: Runtime, sandbox: Sandbox
) -> None:
    ours, theirs = people
    chunks = [{"file_id": person.ids["<file_id>"], "partition": person.instance.domain} for person in people]
    sandbox.script({"content": "There."}, sources=[{"source_type": "document", "chunk": chunk} for chunk in chunks])
    conversation, question = ours.client.ask("Where?")
    (sources,) = [event["content"] for event in ours.client.events(question) if event["object"] == "sources"]
    assert [source["id"] for source in sources] == [ours.ids["<file_id>"]]
    saved = runtime.store.get(ours.instance, CONVERSATIONS, conversation)
    assert theirs.ids["<file_id>"] not in json.dumps(saved)


def test_a_callback_about_a_file_of_others(people: tuple[Person, Person], runtime: Runtime) -> None:
    ours, theirs = people
    file_id = theirs.ids["<file_id>"]
    before = [_state(runtime, person.instance) for person in people]
    tokens = [callback_token(person.instance, file_id) for person in people]
    for partition, token in itertools.product((ours.instance.domain, theirs.instance.domain), tokens):
        body = {"partition": partition, "file_id": file_id, "status": "success", "metadata": {"doc_rev": "9-a"}}
        headers = {"Authorization": f"Bearer {token}"}
        response = ours.client.request("POST", "/ai/index/status", json=body, headers=headers)
        fine = (partition, token) == (ours.instance.domain, tokens[0])
        assert response.status_code == (204 if fine else 400 if partition != ours.instance.domain else 401)
    assert [_state(runtime, person.instance) for person in people] == before


def test_events_reach_one_instance_alone(people: tuple[Person, Person], runtime: Runtime) -> None:
    """Also with the same ids of conversations and of messages: live, replayed, and as server-sent events."""
    ours, theirs = people
    doc = {"_id": "same", "messages": [{"id": "m", "role": "user", "content": "?"}]}
    for person in people:
        runtime.store.save(person.instance, CONVERSATIONS, doc)
    wanted = [{"type": CONVERSATIONS}, {"type": CHAT_EVENTS}, {"type": CHAT_EVENTS, "id": "m"}, {"type": FILES}]
    with ours.client.socket(*wanted) as socket:
        socket.sync()
        for person in (theirs, ours):
            publisher, domain = runtime.publisher, person.instance.domain
            publisher.publish(domain, Event("CREATED", CHAT_EVENTS, "m", {"object": "delta", "content": domain}))
            publisher.publish(domain, Event("CREATED", CHAT_EVENTS, "m", {"object": "done"}))
            publisher.publish(domain, Event("UPDATED", FILES, "f", {"name": domain}))
            publisher.flush()
        heard = [socket.receive() for _ in range(3)]
        socket.sync()
    assert theirs.instance.domain not in json.dumps(heard)
    with ours.client.socket({"type": CHAT_EVENTS, "id": "m"}) as socket:
        replayed = [socket.receive() for _ in range(2)]
    assert theirs.instance.domain not in json.dumps(replayed)
    with ours.client.stream("same", message="m") as stream:
        sent = [event for _, event in stream]
    assert [event["payload"]["doc"]["object"] for event in sent] == ["delta", "done"]
    assert theirs.instance.domain not in json.dumps(sent)
    path = f"/ai/chat/conversations/same/events?message={theirs.question}"
    assert ours.client.request("GET", path).status_code == 404
    with ours.client.socket({"type": CHAT_EVENTS, "id": theirs.question}) as socket:
        socket.sync()  # nothing came before
        socket.send("MARK", "x")
        assert socket.receive()["event"] == "error"
