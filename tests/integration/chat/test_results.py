"""Results of actions: what is refused, what is saved, and what the LLM gets."""

from collections.abc import Callable
from typing import Any

import pytest

from ragcore.chat.messages import ORPHAN
from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client, question_of
from tests.support.chat import MILK, NOTE, Answerer, Json, Saved, call, fragment, objects
from tests.support.sandbox import Sandbox

ARGUMENTS = '{"title": "Milk", "content": ""}'

Propose = Callable[..., str]


@pytest.fixture
def propose(client: Client, sandbox: Sandbox) -> Propose:
    """Asks a question that is answered with an action, in the conversation `c`: the id of its message."""

    def ask(*script: Json, q: str = "Note milk", **fields: Any) -> str:
        sandbox.script(*(script or [call()]))
        _, question_id = client.ask(q, "c", tools=[NOTE], **fields)
        message_id: str = client.events(question_id)[-2]["message_id"]
        sandbox.clear_calls()
        return message_id

    return ask


def give(client: Client, message_id: str, content: Any = None, ok: bool = True, **fields: Any) -> str:
    """Posts a result: its id."""
    response = client.post("c", {"result": {"messageID": message_id, "ok": ok, "content": content}, **fields})
    assert response.status_code == 202, response.text
    return question_of(response)


def sent(sandbox: Sandbox) -> list[Json]:
    """The messages of the only completion."""
    (body,) = sandbox.completions()
    messages: list[Json] = body["messages"]
    return messages


def tool_call(call_id: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "create_note", "arguments": ARGUMENTS}}


# what is refused


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"result": "done"}, "/result"),
        ({"result": {}}, "/result/messageID"),
        ({"result": {"messageID": 3, "ok": True}}, "/result/messageID"),
        ({"result": {"messageID": "", "ok": True}}, "/result/messageID"),
        ({"result": {"messageID": "m"}}, "/result/ok"),
        ({"result": {"messageID": "m", "ok": "yes"}}, "/result/ok"),
        ({"result": {"messageID": "m", "ok": True, "content": ["x"]}}, "/result/content"),
        ({"result": {"messageID": "m", "ok": True}, "q": "Hello"}, "/q"),
        ({"result": {"messageID": "m", "ok": True}, "attachmentIDs": ["f"]}, "/attachmentIDs"),
        ({"result": {"messageID": "m", "ok": True}, "tools": [{"name": "a b", "description": "d"}]}, "/tools/0/name"),
        ({"result": {"messageID": "m", "ok": True}}, "/result/messageID"),
    ],
)
def test_a_result_that_is_none_is_pointed_at(client: Client, sandbox: Sandbox, body: Json, pointer: str) -> None:
    assert refused(client, "c", body) == pointer
    assert client.post("c", {"q": "Hello"}).json()["data"]["rev"].startswith("1-")  # nothing was saved before


def refused(client: Client, conversation_id: str, body: Json) -> str:
    """The pointer of the 400."""
    response = client.post(conversation_id, body)
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert error["detail"]
    pointer: str = error["source"]["pointer"]
    return pointer


def test_a_result_of_no_action_is_refused(client: Client, sandbox: Sandbox, saved: Saved, propose: Propose) -> None:
    propose()
    sandbox.script({"content": "Hello."})
    client.events(client.ask("Hello", "c", documents=False)[1])
    before = saved("c")
    for message in (before[0], before[2], before[3]):  # a question, another, a plain answer
        assert refused(client, "c", {"result": {"messageID": message["id"], "ok": True}}) == "/result/messageID"
    assert refused(client, "c", {"result": {"messageID": "unknown", "ok": True}}) == "/result/messageID"
    other = {"result": {"messageID": before[1]["id"], "ok": True}}
    assert refused(client, "another-conversation", other) == "/result/messageID"
    assert saved("c") == before


def test_a_result_is_given_once(client: Client, sandbox: Sandbox, saved: Saved, propose: Propose) -> None:
    message_id = propose()
    sandbox.script({"content": "Noted."})
    client.events(give(client, message_id))
    before = saved("c")
    again = {"result": {"messageID": message_id, "ok": False, "content": "other"}}
    assert refused(client, "c", again) == "/result/messageID"
    assert saved("c") == before


# what is saved and told


@pytest.mark.parametrize("ok", [True, False])
def test_a_result_is_saved_and_answered_like_a_question(
    client: Client, sandbox: Sandbox, saved: Saved, propose: Propose, ok: bool
) -> None:
    message_id = propose()
    sandbox.script({"reasoning": "Done."}, {"content": "Noted."})
    result_id = give(client, message_id, "3 notes", ok)
    events = client.events(result_id)
    assert objects(events) == ["reasoning", "delta", "done"]
    assert {event["_id"] for event in events} == {result_id}
    question, action, result, answer = saved("c")
    assert result.pop("createdAt").endswith("Z")
    named = {"messageID": message_id, "ok": ok}
    assert result == {"id": result_id, "role": "tool", "content": "3 notes", "result": named}
    assert (answer["role"], answer["content"], answer["reasoning"]) == ("assistant", "Noted.", "Done.")
    assert action["id"] == message_id


def test_the_response_ends_with_the_result(client: Client, sandbox: Sandbox, propose: Propose) -> None:
    message_id = propose()
    response = client.post("c", {"result": {"messageID": message_id, "ok": True, "content": "x"}})
    assert [m["role"] for m in response.json()["data"]["attributes"]["messages"]] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("content", ["é" * 8000, "é" * 8001, "é" * 7999 + "😀😀"])
def test_a_content_is_cut_at_8000_characters_when_it_is_saved(
    client: Client, sandbox: Sandbox, saved: Saved, propose: Propose, content: str
) -> None:
    message_id = propose()
    sandbox.script({"content": "Noted."})
    client.events(give(client, message_id, content))
    assert saved("c")[2]["content"] == content[:8000]
    assert sent(sandbox)[-1]["content"] == content[:8000]


def test_the_llm_goes_on_with_the_next_action(client: Client, sandbox: Sandbox, saved: Saved, propose: Propose) -> None:
    first = propose()
    sandbox.script(call(call_id="call-2"))
    result_id = give(client, first, "saved", tools=[NOTE])
    events = client.events(result_id)
    assert objects(events) == ["action", "done"]
    assert events[0]["action"] == {"name": "create_note", "params": MILK, "toolCallId": "call-2"}
    assert saved("c")[3]["id"] == events[0]["message_id"] != first
    (body,) = sandbox.completions()
    assert [tool["function"]["name"] for tool in body["tools"]] == ["create_note"]


def test_a_result_can_be_posted_as_soon_as_the_action_is_told(client: Client, sandbox: Sandbox, saved: Saved) -> None:
    sandbox.script(call())
    sandbox.script({"content": "Noted."})
    with client.socket({"type": CHAT_EVENTS}) as socket:
        socket.sync()
        _, question_id = client.ask("Note milk", "c", tools=[NOTE], documents=False)
        told: list[tuple[str, str]] = []
        result_id = ""
        for event in (message["payload"]["doc"] for message in socket):
            told.append((event["_id"], event["object"]))
            if event["object"] == "action":
                result_id = give(client, event["message_id"], documents=False)
            if told[-1] == (result_id, "done"):
                break
    assert told == [(question_id, "action"), (question_id, "done"), (result_id, "delta"), (result_id, "done")]
    assert [message["role"] for message in saved("c")] == ["user", "assistant", "tool", "assistant"]


def test_an_answer_to_a_result_can_be_cancelled(
    client: Client, sandbox: Sandbox, saved: Saved, propose: Propose, until: Callable[..., Any]
) -> None:
    message_id = propose()
    sandbox.script({"content": "Not"}, {"sleep": 20}, {"content": "ed."})
    result_id = give(client, message_id, documents=False)
    until(lambda: sandbox.calls("/v1/chat/completions"))
    assert client.request("POST", "/ai/chat/conversations/c/cancel").status_code == 204
    assert client.events(result_id)[-1]["object"] == "done"
    assert len(saved("c")) == 3


# what the LLM gets


@pytest.mark.parametrize(
    ("ok", "content", "outcome"),
    [
        (True, "3 emails", "3 emails"),
        (True, "", "Done."),
        (True, None, "Done."),
        (False, "no network", "Error: no network"),
        (False, "", "Error: the app could not run the action."),
        (False, None, "Error: the app could not run the action."),
    ],
)
def test_the_result_answers_the_call(
    client: Client, sandbox: Sandbox, propose: Propose, ok: bool, content: str | None, outcome: str
) -> None:
    message_id = propose({"reasoning": "Hm."}, {"content": "So: "}, call())
    sandbox.script({"content": "Noted."})
    client.events(give(client, message_id, content, ok))
    assert sent(sandbox) == [
        {"role": "user", "content": "Note milk"},
        {"role": "assistant", "content": "So: ", "tool_calls": [tool_call("call-1")]},
        {"role": "tool", "tool_call_id": "call-1", "content": outcome},
    ]


def test_a_call_that_had_no_id_gets_that_of_its_message(client: Client, sandbox: Sandbox, propose: Propose) -> None:
    message_id = propose(fragment('{"title": "Milk"}', name="create_note"))
    sandbox.script({"content": "Noted."})
    client.events(give(client, message_id))
    assert sent(sandbox)[1]["tool_calls"] == [tool_call(f"call_{message_id}")]
    assert sent(sandbox)[2]["tool_call_id"] == f"call_{message_id}"


@pytest.mark.parametrize(("text", "words"), [("", ""), ("Here.", "\n\nHere.")])
def test_an_action_without_a_result_is_told_in_words(
    client: Client, sandbox: Sandbox, propose: Propose, text: str, words: str
) -> None:
    propose({"content": text}, call())
    sandbox.script({"content": "OK."})
    client.events(client.ask("Change the title", "c")[1])
    assert sent(sandbox) == [
        {"role": "user", "content": "Note milk"},
        {"role": "assistant", "content": f"(Proposed to the user: create_note {ARGUMENTS}){words}"},
        {"role": "user", "content": "Change the title"},
    ]


def test_a_result_is_matched_by_id_whatever_stands_between(client: Client, sandbox: Sandbox, propose: Propose) -> None:
    first = propose(call(call_id="call-1"))
    propose(call(call_id="call-2"), q="Another")
    sandbox.script({"content": "Fine."})
    client.events(client.ask("Thanks", "c")[1])
    sandbox.clear_calls()
    sandbox.script({"content": "Noted."})
    client.events(give(client, first, "saved"))
    roles = [(m["role"], m.get("tool_call_id") or [c["id"] for c in m.get("tool_calls", [])]) for m in sent(sandbox)]
    assert roles == [
        ("user", []),
        ("assistant", ["call-1"]),
        ("user", []),
        ("assistant", []),
        ("user", []),
        ("assistant", []),
        ("tool", "call-1"),
    ]


def test_a_result_without_its_action_is_told_as_the_app_s(
    client: Client, sandbox: Sandbox, propose: Propose, runtime: Runtime, instance: Instance
) -> None:
    """A client took the message of the action away after its result was given."""
    message_id = propose()
    sandbox.script({"content": "Noted."})
    client.events(give(client, message_id, "3 emails"))
    store = runtime.store
    doc = store.get(instance, CONVERSATIONS, "c")
    left = [message for message in doc["messages"] if message["id"] != message_id]
    store.save(instance, CONVERSATIONS, {**doc, "messages": left})
    sandbox.clear_calls()
    sandbox.script({"content": "Fine."})
    client.events(client.ask("Thanks", "c")[1])
    assert {"role": "user", "content": f"{ORPHAN}\n3 emails"} in sent(sandbox)
    assert "tool" not in [message["role"] for message in sent(sandbox)]


def test_results_are_sent_also_when_they_got_no_answer(client: Client, sandbox: Sandbox, propose: Propose) -> None:
    message_id = propose()
    sandbox.script({"error": {"message": "no"}})
    assert objects(client.events(give(client, message_id, "saved"))) == ["error"]
    sandbox.clear_calls()
    sandbox.script({"content": "Fine."})
    client.events(client.ask("Thanks", "c")[1])
    assert [(m["role"], m["content"]) for m in sent(sandbox)] == [
        ("user", "Note milk"),
        ("assistant", ""),
        ("tool", "saved"),
        ("user", "Thanks"),
    ]


def test_the_attachments_of_the_user_s_last_message_apply(
    client: Client, sandbox: Sandbox, saved: Saved, propose: Propose
) -> None:
    propose(attachmentIDs=["old"])
    message_id = propose(q="And this?", attachmentIDs=["f1", "f2"])
    sandbox.script({"content": "Noted."})
    client.events(give(client, message_id, tools=[NOTE], instructions="Short."))
    (body,) = sandbox.completions()
    assert body["metadata"]["attachments"] == [{"id": "f1"}, {"id": "f2"}]
    assert body["messages"][0] == {"role": "system", "content": "Short."}
    assert "attachmentIDs" not in saved("c")[-2]


def test_without_the_documents_no_attachments_are_sent(client: Client, sandbox: Sandbox, propose: Propose) -> None:
    message_id = propose(attachmentIDs=["f1"])
    sandbox.script({"content": "Noted."})
    client.events(give(client, message_id, documents=False))
    (body,) = sandbox.completions()
    assert "model" not in body
    assert body["metadata"] == {"websearch": False}


def test_a_server_before_the_agentic_loop_gives_an_error(
    client: Client, sandbox: Sandbox, saved: Saved, propose: Propose
) -> None:
    message_id = propose()
    body = {"detail": "[INVALID_MESSAGES]: The last message must be a non-empty user message"}
    sandbox.fault(route="/v1/chat/completions", status=400, body=body)
    (event,) = client.events(give(client, message_id))
    assert (event["object"], event["code"]) == ("error", "refused")
    assert len(saved("c")) == 3


def test_outcomes_that_clients_write_stay(
    sandbox: Sandbox, answerer: Answerer, runtime: Runtime, instance: Instance
) -> None:
    """`done`, with a url, or `cancelled`: written while the next answer is made."""
    sandbox.script(call())
    answerer.ask("c", q="Note milk", tools=[NOTE], documents=False)
    answerer.run()
    result = {"messageID": answerer.messages("c")[1]["id"], "ok": True}
    sandbox.script({"content": "Noted."})
    answerer.ask("c", result=result, documents=False)
    doc = runtime.store.get(instance, CONVERSATIONS, "c")
    doc["messages"][1]["action"] |= {"status": "done", "url": "https://notes/1"}
    runtime.store.save(instance, CONVERSATIONS, {**doc, "name": "Milk"})
    answerer.run()
    doc = runtime.store.get(instance, CONVERSATIONS, "c")
    assert [m["role"] for m in doc["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert doc["messages"][1]["action"]["status"] == "done"
    assert doc["messages"][1]["action"]["url"] == "https://notes/1"
    assert doc["name"] == "Milk"
