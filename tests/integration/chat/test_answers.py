"""A question, from its POST to the saved answer, over real processes."""

from typing import Any

import pytest

from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.files import Drive
from tests.support.sandbox import Sandbox


def objects(events: list[dict[str, Any]]) -> list[str]:
    return [event["object"] for event in events]


def test_an_answer_is_published_as_it_comes_and_saved(client: Client, sandbox: Sandbox, saved) -> None:
    source = {
        "source_type": "document",
        "chunk": {"file_id": "f1", "filename": "sky.txt", "doctype": "io.cozy.files"},
    }
    sandbox.script(
        {"reasoning": "The user "},
        {"reasoning": "asks."},
        {"content": "Because "},
        {"content": "of Rayleigh."},
        sources=[source],
    )
    conversation_id, question_id = client.ask("Why is the sky blue?")
    events = client.events(question_id)
    expected = [
        {"object": "reasoning", "content": "The user ", "position": 0},
        {"object": "reasoning", "content": "asks.", "position": 1},
        {"object": "delta", "content": "Because ", "position": 0},
        {"object": "delta", "content": "of Rayleigh.", "position": 1},
    ]
    assert events[:4] == [{"_id": question_id, **event} for event in expected]
    ours = {"sourceType": "document", "id": "f1", "filename": "sky.txt", "doctype": "io.cozy.files"}
    assert events[4] == {"_id": question_id, "object": "sources", "content": [ours]}
    assert events[5] == {"_id": question_id, "object": "done"}
    question, answer = saved(conversation_id)
    assert (question["role"], question["content"]) == ("user", "Why is the sky blue?")
    assert (answer["role"], answer["content"]) == ("assistant", "Because of Rayleigh.")
    assert answer["reasoning"] == "The user asks."
    assert answer["sources"] == [ours]


def test_the_response_has_the_shape_that_clients_know(client: Client, sandbox: Sandbox, instance: Instance) -> None:
    body = {"q": "Hello", "attachmentIDs": ["a", "b"], "assistantID": "nobody"}
    response = client.post("conversation-1", body)
    assert response.status_code == 202
    assert response.headers["Content-Type"] == "application/vnd.api+json"
    data = response.json()["data"]
    assert (data["type"], data["id"]) == (CONVERSATIONS, "conversation-1")
    assert data["rev"].startswith("1-")
    (message,) = data["attributes"]["messages"]
    assert message["attachmentIDs"] == ["a", "b"]
    assert message["role"] == "user"
    assert message["content"] == "Hello"
    assert data["attributes"]["relationships"]["assistant"]["data"] == {
        "id": "nobody",
        "type": "io.cozy.ai.chat.assistants",
    }
    assert data["attributes"]["cozyMetadata"]["createdOn"].startswith(f"http://{instance.domain}:")


def test_what_the_llm_is_sent(client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance) -> None:
    assistant = Drive(runtime, instance).assistant(prompt="You are a pirate.")
    sandbox.script({"content": "Arr."})
    conversation_id, first = client.ask("One", assistantID=assistant, websearch=True)
    client.events(first)
    sandbox.script({"content": "Arr again."})
    _, second = client.ask("Two", conversation_id, instructions="Be short.", attachmentIDs=["f1"])
    client.events(second)
    one, two = sandbox.completions()
    assert one["model"] == f"openrag-{instance.domain}"
    assert one["stream"] is True
    assert one["metadata"] == {"websearch": True}
    assert one["messages"] == [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "One"},
    ]
    assert two["metadata"] == {"websearch": False, "attachments": [{"id": "f1"}]}
    assert two["messages"] == [
        {"role": "system", "content": "You are a pirate."},
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Arr."},
        {"role": "user", "content": "Two"},
    ]


def test_without_the_documents_the_llm_answers_alone(client: Client, sandbox: Sandbox) -> None:
    sandbox.script({"content": "Bonjour"})
    _, question_id = client.ask("Translate: hello", documents=False)
    assert objects(client.events(question_id)) == ["delta", "done"]
    (body,) = sandbox.completions()
    assert "model" not in body


def test_an_unstreamed_answer_is_one_delta(client: Client, sandbox: Sandbox) -> None:
    sandbox.script({"content": "All "}, {"content": "at once"})
    _, question_id = client.ask("Hello", stream=False, documents=False)
    events = client.events(question_id)
    assert objects(events) == ["delta", "done"]
    assert events[0]["content"] == "All at once"


def test_a_stream_that_breaks_off_after_some_text_is_an_answer_cut_short(
    client: Client, sandbox: Sandbox, saved
) -> None:
    sandbox.script({"content": "It begins"}, {"cut": True})
    conversation_id, question_id = client.ask("Hello", documents=False)
    assert objects(client.events(question_id)) == ["delta", "done"]
    assert saved(conversation_id)[1]["truncated"] is True


@pytest.mark.parametrize(
    "script",
    [
        [{"cut": True}],
        [{"error": {"message": "out of memory"}}],
        [{"content": " "}],
        [{"reasoning": "Hm."}],
    ],
    ids=["cut", "error chunk", "blank", "only thoughts"],
)
def test_without_any_text_the_question_is_told_an_error(client: Client, sandbox: Sandbox, saved, script) -> None:
    sandbox.script(*script)
    conversation_id, question_id = client.ask("Hello", documents=False)
    last = client.events(question_id)[-1]
    assert last["object"] == "error"
    assert "later" in last["message"]
    assert last["code"] in ("unavailable", "empty")
    assert len(saved(conversation_id)) == 1


@pytest.mark.parametrize(("status", "code"), [(413, "too_long"), (500, "unavailable"), (429, "unavailable")])
def test_a_refusal_of_openrag_is_told(client: Client, sandbox: Sandbox, status: int, code: str) -> None:
    sandbox.fault(method="POST", route="/v1/chat/completions", status=status, body="<html>proxy</html>", times=1)
    _, question_id = client.ask("Hello")
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", code)
    assert "html" not in event["message"]


def test_an_assistant_that_is_gone_gives_an_error(client: Client, sandbox: Sandbox) -> None:
    _, question_id = client.ask("Hello", assistantID="gone")
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", "assistant_not_found")
    assert sandbox.completions() == []


def test_a_folder_that_is_not_indexed_gives_an_error_and_no_wider_answer(
    client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance
) -> None:
    drive = Drive(runtime, instance)
    assistant = drive.assistant(drive.folder("/Never indexed"))
    _, question_id = client.ask("Hello", assistantID=assistant)
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", "not_indexed")
    assert sandbox.completions() == []
    assert sandbox.calls(f"/partition/{instance.domain}$", "POST") == []


def test_what_clients_wrote_on_the_conversation_is_kept(
    client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance, until
) -> None:
    sandbox.script({"content": "Slow"}, {"sleep": 1}, {"content": "ly"})
    conversation_id, question_id = client.ask("Hello", documents=False)
    until(lambda: sandbox.completions())
    store = runtime.store
    doc = store.get(instance, CONVERSATIONS, conversation_id)
    store.save(instance, CONVERSATIONS, {**doc, "name": "Greetings"})
    assert objects(client.events(question_id))[-1] == "done"
    doc = store.get(instance, CONVERSATIONS, conversation_id)
    assert doc["name"] == "Greetings"
    assert doc["messages"][1]["content"] == "Slowly"


def test_an_answer_is_put_right_behind_its_question(client: Client, sandbox: Sandbox, saved) -> None:
    sandbox.script({"sleep": 0.5}, {"content": "First"}, match="One")
    sandbox.script({"content": "Second"}, match="Two")
    conversation_id, one = client.ask("One", documents=False)
    _, two = client.ask("Two", conversation_id, documents=False)
    client.events(one)
    client.events(two)
    assert [message["content"] for message in saved(conversation_id)] == ["One", "First", "Two", "Second"]
