"""The events of a question as server-sent events."""

from collections.abc import Callable
from typing import Any

import pytest

from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS, Event
from ragcore.events.history import history_key
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.sandbox import Sandbox

WORDS = [f"{number} " for number in range(20)]


def objects(events: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [event["payload"]["doc"]["object"] for _, event in events]


def text(events: list[tuple[str, dict[str, Any]]]) -> str:
    return "".join(event["payload"]["doc"].get("content", "") for _, event in events)


@pytest.fixture
def counted(client: Client, sandbox: Sandbox) -> tuple[str, str]:
    """A conversation and its question, whose answer takes a second in its middle."""
    script = [{"content": word} for word in WORDS]
    sandbox.script(*script[:10], {"sleep": 1}, *script[10:])
    return client.ask("Count", documents=False)


def test_an_answer_is_streamed_whole_and_ends(client: Client, counted: tuple[str, str]) -> None:
    conversation, question = counted
    with client.stream(conversation) as source:
        assert source.response.status_code == 200
        assert source.response.headers["Content-Type"] == "text/event-stream"
        events = list(source)
    assert text(events) == "".join(WORDS)
    assert objects(events) == ["delta"] * 20 + ["done"]
    assert {(event["event"], event["payload"]["type"]) for _, event in events} == {("CREATED", CHAT_EVENTS)}
    assert {event["payload"]["id"] for _, event in events} == {question}


def test_it_goes_on_behind_the_last_event_that_was_seen(client: Client, counted: tuple[str, str]) -> None:
    conversation, _ = counted
    with client.stream(conversation) as source:
        events = iter(source)
        seen = [next(events) for _ in range(5)]
    with client.stream(conversation, last_event_id=seen[-1][0]) as source:
        rest = list(source)
    assert text(seen + rest) == "".join(WORDS)
    with client.stream(conversation, last_event_id=rest[-1][0]) as source:
        assert source.response.status_code == 204
    with client.stream(conversation, last_event_id="nonsense") as source:
        assert text(list(source)) == "".join(WORDS)


def test_an_earlier_question_is_named(client: Client, sandbox: Sandbox, counted: tuple[str, str]) -> None:
    conversation, question = counted
    client.events(question)
    sandbox.script({"content": "Second"})
    client.events(client.ask("Next", conversation, documents=False)[1])
    with client.stream(conversation) as source:
        assert text(list(source)) == "Second"
    with client.stream(conversation, message=question) as source:
        assert text(list(source)) == "".join(WORDS)


def test_a_question_that_waits_is_followed(client: Client, sandbox: Sandbox, counted: tuple[str, str]) -> None:
    conversation, _ = counted
    sandbox.script({"content": "Second"})
    client.ask("Next", conversation, documents=False)
    with client.stream(conversation) as source:
        assert text(list(source)) == "Second"


def test_what_is_unknown_or_over(
    client: Client, counted: tuple[str, str], runtime: Runtime, instance: Instance, until: Callable
) -> None:
    conversation, question = counted
    client.events(question)
    for path in ("other", "_design%2Fx"):
        assert client.stream(path).response.status_code == 404
    assert client.stream(conversation, message="other").response.status_code == 404
    runtime.redis.delete(history_key(instance.domain, question))
    assert client.stream(conversation).response.status_code == 204


def test_the_permissions_are_those_of_a_chat(client: Client, counted: tuple[str, str], instance: Instance) -> None:
    path = f"/ai/chat/conversations/{counted[0]}/events"
    assert client.request("GET", path, headers={"Authorization": "Bearer no"}).status_code == 401
    narrow = create_token(instance, "cli", "test", "io.cozy.ai.chat.conversations")
    assert client.request("GET", path, headers={"Authorization": f"Bearer {narrow}"}).status_code == 403


def test_a_text_that_looks_like_the_end_is_none(
    client: Client, counted: tuple[str, str], runtime: Runtime, instance: Instance
) -> None:
    conversation, question = counted
    client.events(question)
    runtime.redis.delete(history_key(instance.domain, question))
    params = {"object": "done"}
    docs = [{"object": "action", "action": {"params": params}}, {"object": "delta", "content": '"object":"done"'}]
    for doc in [*docs, {"object": "done"}]:
        runtime.publisher.publish(instance.domain, Event("CREATED", CHAT_EVENTS, question, doc))
    runtime.publisher.flush()
    with client.stream(conversation) as source:
        assert objects(list(source)) == ["action", "delta", "done"]


@pytest.mark.parametrize("message_id", ["", None, 3])
def test_a_message_without_an_id_gives_nobody_the_history_of_the_instance(
    client: Client, runtime: Runtime, instance: Instance, message_id: object
) -> None:
    """It is kept under no question: what a client wrote into a conversation must not name it."""
    runtime.publisher.publish(instance.domain, Event("CREATED", "io.cozy.tests", "secret", {"_rev": "1-a"}))
    runtime.publisher.flush()
    message = {"role": "user", "content": "Hello", "id": message_id}
    runtime.store.save(instance, CONVERSATIONS, {"_id": "written", "messages": [message]})
    assert client.stream("written").response.status_code == 404
    assert client.stream("written", message="").response.status_code == 404
    assert client.request("POST", "/ai/chat/conversations/written/cancel").status_code == 204
