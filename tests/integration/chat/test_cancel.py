"""A cancel, over real processes: openRAG is left at once, `done` is published, nothing is saved."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS, FILES
from ragcore.events import CHAT_EVENTS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.sandbox import Sandbox

AT_ONCE = 0.3  # seconds from the request
ENDLESS = [{"content": "begun"}, *[{"sleep": 0.05}, {"content": " more"}] * 200]
SILENT = [{"content": "begun"}, {"sleep": 20}]

Messages = Callable[[str], list[dict[str, Any]]]


def cancel(client: Client, conversation_id: str) -> int:
    return client.request("POST", f"/ai/chat/conversations/{conversation_id}/cancel").status_code


def objects(client: Client, question_id: str) -> list[str]:
    return [event["object"] for event in client.events(question_id)]


def contents(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"] for message in messages]


def is_left(sandbox: Sandbox) -> bool:
    """openRAG saw that the connection of its last completion was closed."""
    return bool(sandbox.calls("/v1/chat/completions")[-1]["closed_early"])


def terminal(runtime: Runtime, client: Client, question_id: str) -> tuple[str, float]:
    """The one terminal event of a question, and when it was published."""
    (found,) = [
        (kind, int(event.place.partition("-")[0]) / 1000)
        for event in runtime.history.of_question(client.instance.domain, question_id)
        for kind in ("done", "error")
        if f'"object":"{kind}"' in event.text
    ]
    return found


@pytest.mark.parametrize("script", [ENDLESS, SILENT], ids=["while it streams", "while openRAG is silent"])
def test_a_cancel_stops_a_stream(
    client: Client, sandbox: Sandbox, runtime: Runtime, saved: Messages, until: Callable, script: list[dict[str, Any]]
) -> None:
    sandbox.script(*script)
    conversation_id, question_id = client.ask("Hello", documents=False)
    with client.socket({"type": CHAT_EVENTS, "id": question_id}) as socket:
        assert socket.receive()["payload"]["doc"]["object"] == "delta"
        began = time.time()
        assert cancel(client, conversation_id) == 204
        until(lambda: is_left(sandbox))
        took = time.time() - began
    kind, at = terminal(runtime, client, question_id)
    assert kind == "done"
    assert max(took, at - began) < AT_ONCE
    assert objects(client, question_id)[-1] == "done"
    assert contents(saved(conversation_id)) == ["Hello"]


def test_a_cancel_does_not_wait_for_the_headers(
    client: Client, sandbox: Sandbox, runtime: Runtime, saved: Messages, until: Callable
) -> None:
    sandbox.fault(method="POST", route="/v1/chat/completions", delay=20)
    conversation_id, question_id = client.ask("Hello", documents=False)
    until(lambda: sandbox.calls("/v1/chat/completions"))
    began = time.time()
    assert cancel(client, conversation_id) == 204
    until(lambda: is_left(sandbox))
    took = time.time() - began
    kind, at = terminal(runtime, client, question_id)
    assert kind == "done"
    assert max(took, at - began) < AT_ONCE
    assert contents(saved(conversation_id)) == ["Hello"]


def test_a_cancel_does_not_wait_for_an_unstreamed_answer(
    client: Client, sandbox: Sandbox, runtime: Runtime, saved: Messages, until: Callable
) -> None:
    sandbox.script({"sleep": 1}, {"content": "Yes."}, match="One")
    sandbox.script({"content": "Second."}, match="Two")
    conversation_id, question_id = client.ask("One", documents=False, stream=False)
    until(lambda: sandbox.calls("/v1/chat/completions"))
    began = time.time()
    assert cancel(client, conversation_id) == 204
    kind, at = terminal(runtime, client, question_id)
    assert (kind, at - began < AT_ONCE) == ("done", True)
    _, two = client.ask("Two", conversation_id, documents=False, stream=False)
    assert objects(client, two) == ["delta", "done"]
    assert contents(saved(conversation_id)) == ["One", "Two", "Second."]


def test_a_cancel_does_not_wait_for_a_worker(
    stack: Stack, client: Client, sandbox: Sandbox, runtime: Runtime, saved: Messages
) -> None:
    """None is free; the one that gets its message later does nothing with it."""
    workers = stack.processes["worker-query"].handle
    workers.suspend()
    try:
        conversation_id, question_id = client.ask("Hello", documents=False)
        began = time.time()
        assert cancel(client, conversation_id) == 204
        kind, at = terminal(runtime, client, question_id)
        assert (kind, at - began < AT_ONCE) == ("done", True)
        assert objects(client, question_id) == ["done"]
    finally:
        workers.resume()
    sandbox.script({"content": "Yes."}, match="And now?")
    _, following = client.ask("And now?", conversation_id, documents=False)
    assert objects(client, following) == ["delta", "done"]
    assert contents(saved(conversation_id)) == ["Hello", "And now?", "Yes."]
    assert len(sandbox.completions()) == 1
    assert terminal(runtime, client, question_id)[0] == "done"


def test_of_two_questions_that_wait_the_one_asked_last_is_stopped(
    client: Client, sandbox: Sandbox, runtime: Runtime, saved: Messages, until: Callable
) -> None:
    sandbox.script({"content": "First"}, {"sleep": 0.7}, {"content": "."}, match="One")
    conversation_id, one = client.ask("One", documents=False)
    _, two = client.ask("Two", conversation_id, documents=False)
    until(lambda: sandbox.completions())
    began = time.time()
    assert cancel(client, conversation_id) == 204
    kind, at = terminal(runtime, client, two)
    assert (kind, at - began < AT_ONCE) == ("done", True)
    assert objects(client, two) == ["done"]
    assert objects(client, one) == ["delta", "delta", "done"]
    assert contents(saved(conversation_id)) == ["One", "First.", "Two"]
    assert len(sandbox.completions()) == 1
    assert not is_left(sandbox)


def test_the_next_question_is_answered_and_the_cancelled_one_is_not_sent_again(
    client: Client, sandbox: Sandbox, saved: Messages, until: Callable
) -> None:
    sandbox.script(*SILENT, match="One")
    conversation_id, one = client.ask("One", documents=False)
    until(lambda: sandbox.completions())
    assert cancel(client, conversation_id) == 204
    sandbox.script({"content": "Second."}, match="Two")
    _, two = client.ask("Two", conversation_id, documents=False)
    assert objects(client, two) == ["delta", "done"]
    assert contents(saved(conversation_id)) == ["One", "Two", "Second."]
    assert [message["content"] for message in sandbox.completions()[-1]["messages"]] == ["Two"]
    assert objects(client, one)[-1] == "done"


def test_a_question_that_waits_is_answered_when_the_first_one_was_stopped_before_it_was_asked(
    client: Client, sandbox: Sandbox, saved: Messages, until: Callable
) -> None:
    """A cancel is of one question, however often it comes, and of none that is asked later."""
    sandbox.script(*SILENT, match="One")
    conversation_id, _ = client.ask("One", documents=False)
    until(lambda: sandbox.completions())
    assert [cancel(client, conversation_id) for _ in range(3)] == [204] * 3
    sandbox.script({"content": "Second."}, match="Two")
    sandbox.script({"content": "Third."}, match="Three")
    _, two = client.ask("Two", conversation_id, documents=False)
    _, three = client.ask("Three", conversation_id, documents=False)
    assert (objects(client, two), objects(client, three)) == (["delta", "done"], ["delta", "done"])
    assert contents(saved(conversation_id)) == ["One", "Two", "Second.", "Three", "Third."]


def test_a_cancel_of_a_question_that_has_its_answer_does_nothing(
    client: Client, sandbox: Sandbox, runtime: Runtime, saved: Messages
) -> None:
    sandbox.script({"content": "First."}, match="One")
    conversation_id, one = client.ask("One", documents=False)
    assert objects(client, one) == ["delta", "done"]
    assert cancel(client, conversation_id) == 204
    sandbox.script({"content": "Second."}, match="Two")
    _, two = client.ask("Two", conversation_id, documents=False)
    assert objects(client, two) == ["delta", "done"]
    assert contents(saved(conversation_id)) == ["One", "First.", "Two", "Second."]
    assert terminal(runtime, client, one)[0] == "done"


def test_a_cancel_of_a_question_that_failed_does_nothing(client: Client, sandbox: Sandbox, runtime: Runtime) -> None:
    sandbox.script({"error": {"message": "out of memory"}})
    conversation_id, question_id = client.ask("Hello", documents=False)
    assert objects(client, question_id) == ["error"]
    assert cancel(client, conversation_id) == 204
    assert terminal(runtime, client, question_id)[0] == "error"


@pytest.mark.parametrize(
    "scope", [f"{CONVERSATIONS}:GET {FILES} {CHAT_EVENTS}", f"{FILES}"], ids=["reads only", "files only"]
)
def test_a_cancel_needs_the_permission(
    client: Client, runtime: Runtime, instance: Instance, sandbox: Sandbox, until: Callable, scope: str
) -> None:
    sandbox.script({"sleep": 0.2}, {"content": "Yes."})
    conversation_id, question_id = client.ask("Hello", documents=False)
    other = Client(runtime.config.public_url(instance.domain), instance, scope)
    assert cancel(other, conversation_id) == 403
    assert objects(client, question_id) == ["delta", "done"]


@pytest.mark.parametrize("conversation_id", ["unknown", "_design%2Fx", "_all_docs"])
def test_a_cancel_of_an_unknown_conversation_is_a_404(client: Client, conversation_id: str) -> None:
    assert cancel(client, conversation_id) == 404


def test_a_conversation_of_another_instance_is_unknown(client: Client, sandbox: Sandbox, runtime: Runtime) -> None:
    other = runtime.instances.add(f"other-{client.instance.domain}")
    sandbox.script({"sleep": 0.2}, {"content": "Yes."})
    conversation_id, question_id = client.ask("Hello", documents=False)
    assert cancel(Client(runtime.config.public_url(other.domain), other), conversation_id) == 404
    assert objects(client, question_id) == ["delta", "done"]
