"""Streams that end badly, refusals, and saves that fail: one terminal event, and nothing told that is not so."""

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.local.stack import Stack
from ragcore.config import RagServer
from ragcore.documents import ACCOUNTS, CONVERSATIONS
from ragcore.errors import Conflict
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document, Store
from tests.support.api import Client
from tests.support.chat import MILK, NOTE, Answerer, Json, Saved, call, fragment, objects
from tests.support.files import Drive
from tests.support.sandbox import Sandbox
from tests.support.vault import PROVIDER_KEY, PROVIDER_PARTS, PROVIDER_URL

HALF = fragment('{"title": "Mi', index=0, id="call-1", name="create_note")
SOURCE = {"source_type": "document", "chunk": {"file_id": "f1", "filename": "milk.txt", "doctype": "io.cozy.files"}}

# how a stream ends badly, and what a worker is configured with for it
ENDS: dict[str, tuple[list[Json], Json]] = {
    "an error chunk": ([{"error": {"message": "out of memory"}}], {}),
    "a cut": ([{"cut": True}], {}),
    "silence": ([{"raw": ": ping\n\n"}, {"sleep": 20}], {"silence_timeout": "0.2s"}),
    "the time in all, by silence": ([{"sleep": 20}], {"timeout": "0.4s"}),
    "the time in all, by pings": ([{"raw": ": ping\n\n"}, {"sleep": 0.1}] * 50, {"timeout": "0.4s"}),
    "no end": ([{"done": False}, {"finish": None}], {}),
    "truncated": ([{"extra": {"truncated": True}}], {}),
}


@pytest.fixture(params=ENDS)
def end(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ask(stack: Stack, instance: Instance, sandbox: Sandbox, end: str) -> Callable[..., tuple[list[Json], list[Json]]]:
    """The events and the saved messages of a question whose answer ends so behind a script."""
    behind, limits = ENDS[end]
    answerer = Answerer.configured(Path(stack.config_path), instance, **limits)

    def asked(*script: Json, **fields: Any) -> tuple[list[Json], list[Json]]:
        sandbox.script(*script, *behind)
        question_id = answerer.ask("c", q="Note milk", **{"documents": False, **fields})
        began = time.monotonic()
        answerer.run()
        assert time.monotonic() - began < 5
        return answerer.events(question_id), answerer.messages("c")

    return asked


def test_with_some_text_what_there_is_is_saved_as_truncated(ask: Callable[..., Any]) -> None:
    events, (_, answer) = ask({"reasoning": "Hm."}, {"content": "It "}, {"content": "begins"})
    assert objects(events) == ["reasoning", "delta", "delta", "done"]
    assert (answer["content"], answer["reasoning"], answer["truncated"]) == ("It begins", "Hm.", True)


@pytest.mark.parametrize("script", [[], [{"reasoning": "Hm."}], [{"content": " \n"}]], ids=["", "reasoning", "blank"])
def test_without_any_text_the_question_is_told_an_error(ask: Callable[..., Any], script: list[Json]) -> None:
    events, messages = ask(*script)
    assert objects(events)[-1] == "error"
    assert objects(events).count("error") + objects(events).count("done") == 1
    assert events[-1]["code"] in ("unavailable", "empty")
    assert "out of memory" not in events[-1]["message"]
    assert len(messages) == 1


def test_a_whole_call_counts_all_the_same(ask: Callable[..., Any]) -> None:
    events, (_, answer) = ask({"content": "So: "}, call(), tools=[NOTE])
    assert objects(events) == ["delta", "action", "done"]
    assert answer["action"] == {"name": "create_note", "params": MILK, "toolCallId": "call-1"}
    assert "truncated" not in answer


def test_half_a_call_with_a_text_is_a_text(ask: Callable[..., Any]) -> None:
    events, (_, answer) = ask({"content": "So: "}, HALF, tools=[NOTE])
    assert objects(events) == ["delta", "done"]
    assert (answer["content"], answer["truncated"]) == ("So: ", True)
    assert "action" not in answer


@pytest.mark.parametrize("half", [HALF, fragment(index=0, id="call-1", name="create_note")], ids=["half", "its name"])
def test_half_a_call_is_asked_again_without_tools(ask: Callable[..., Any], sandbox: Sandbox, end: str, half) -> None:
    sandbox.script({"reasoning": "A tool."}, half, *ENDS[end][0])
    sandbox.script({"reasoning": " None."}, {"content": "Milk."})
    optional = {**NOTE, "parameters": {**NOTE["parameters"], "required": []}}
    events, (_, *answers) = ask(tools=[optional])
    if "timeout" in ENDS[end][1]:  # it is the time of both
        assert (objects(events), answers) == (["reasoning", "error"], [])
        return
    (answer,) = answers
    assert objects(events) == ["reasoning", "reasoning", "delta", "done"]
    assert [event.get("position") for event in events] == [0, 1, 0, None]
    assert (answer["content"], answer["reasoning"]) == ("Milk.", "A tool. None.")
    assert "truncated" not in answer
    assert ["tools" in body for body in sandbox.completions()] == [True, False]


def test_the_connection_of_a_stream_that_takes_too_long_is_closed(
    stack: Stack, instance: Instance, sandbox: Sandbox, until: Callable[..., Any]
) -> None:
    answerer = Answerer.configured(Path(stack.config_path), instance, silence_timeout="0.2s")
    sandbox.script({"content": "It begins"}, {"sleep": 20})
    answerer.ask("c", q="Hello", documents=False)
    answerer.run()
    until(lambda: sandbox.calls("/v1/chat/completions")[0]["closed_early"])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("limit", ["headers_timeout", "timeout"])
def test_the_headers_are_not_waited_for_without_end(
    stack: Stack, instance: Instance, sandbox: Sandbox, limit: str, stream: bool
) -> None:
    answerer = Answerer.configured(Path(stack.config_path), instance, **{limit: "0.3s"})
    sandbox.fault(route="/v1/chat/completions", delay=3)
    question_id = answerer.ask("c", q="Hello", documents=False, stream=stream)
    began = time.monotonic()
    answerer.run()
    assert time.monotonic() - began < 2
    (event,) = answerer.events(question_id)
    assert (event["object"], event["code"]) == ("error", "unavailable")


@pytest.fixture
def closing_server() -> Iterator[str]:
    """The URL of a server that says `Connection: close`, sends one chunk, and falls silent."""
    delta = b'data: {"choices": [{"delta": {"content": "It begins"}}]}\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    over = threading.Event()

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(head + delta)
                over.wait(20)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize("how", ["silence", "cancel"])
def test_a_connection_that_the_server_will_close_is_ours_to_close(
    stack: Stack,
    runtime: Runtime,
    instance: Instance,
    client: Client,
    until: Callable[..., Any],
    closing_server: str,
    how: str,
) -> None:
    answerer = Answerer.configured(
        Path(stack.config_path), instance, silence_timeout="0.3s" if how == "silence" else "30s"
    )
    server = {"default": RagServer(url=closing_server)}
    answerer.runtime = Runtime(answerer.runtime.config.model_copy(update={"rag": server}))
    question_id = answerer.ask("c", q="Hello", documents=False)
    working = threading.Thread(target=answerer.run)
    working.start()
    until(lambda: answerer.events(question_id))
    if how == "cancel":
        client.request("POST", "/ai/chat/conversations/c/cancel").raise_for_status()
    working.join(timeout=3)
    assert not working.is_alive()
    assert objects(answerer.events(question_id)) == ["delta", "done"]
    assert len(answerer.messages("c")) == (2 if how == "silence" else 1)


def test_a_stream_with_a_finish_reason_and_without_done_ended_well(client: Client, sandbox: Sandbox, saved) -> None:
    sandbox.script({"content": "Hello."}, {"done": False})
    conversation_id, question_id = client.ask("Hello", documents=False)
    assert objects(client.events(question_id)) == ["delta", "done"]
    assert "truncated" not in saved(conversation_id)[1]


@pytest.mark.parametrize("then", [{"cut": True}, {"error": {"message": "no"}}, {"sleep": 20}], ids=str)
@pytest.mark.parametrize("stream_of", [{"content": "Hello."}, call("sync", "")], ids=["a text", "a call"])
def test_what_goes_wrong_behind_the_finish_reason_takes_nothing_away(
    stack: Stack, instance: Instance, sandbox: Sandbox, stream_of: Json, then: Json
) -> None:
    answerer = Answerer.configured(Path(stack.config_path), instance, silence_timeout="0.2s")
    finish = {"chunk": {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}}
    sandbox.script(stream_of, finish, then, sources=[SOURCE])
    question_id = answerer.ask("c", q="Hello", tools=[{"name": "sync", "description": "Synchronises."}])
    answerer.run()
    told = ["delta", "sources", "done"] if "content" in stream_of else ["sources", "action", "done"]
    assert objects(answerer.events(question_id)) == told
    assert "truncated" not in answerer.messages("c")[1]


def test_a_stream_with_done_and_without_a_finish_reason_ended_well(client: Client, sandbox: Sandbox, saved) -> None:
    sandbox.script({"content": "Hello."}, {"finish": None})
    conversation_id, question_id = client.ask("Hello", documents=False)
    assert objects(client.events(question_id)) == ["delta", "done"]
    assert "truncated" not in saved(conversation_id)[1]


# unstreamed


@pytest.mark.parametrize("finish", ["stop", "length", None])
def test_an_unstreamed_answer_is_whole(client: Client, sandbox: Sandbox, saved: Saved, finish: str | None) -> None:
    sandbox.script({"content": "All "}, {"content": "at once"}, {"finish": finish}, sources=[SOURCE])
    conversation_id, question_id = client.ask("Hello", stream=False)
    assert objects(client.events(question_id)) == ["delta", "sources", "done"]
    answer = saved(conversation_id)[1]
    assert answer["content"] == "All at once"
    assert "truncated" not in answer


def test_an_unstreamed_answer_that_was_cut_behind_openrag(client: Client, sandbox: Sandbox, saved: Saved) -> None:
    sandbox.script({"content": "It begins"}, {"extra": {"truncated": True}})
    conversation_id, question_id = client.ask("Hello", stream=False)
    assert objects(client.events(question_id)) == ["delta", "done"]
    assert saved(conversation_id)[1]["truncated"] is True


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ([], "empty"),
        ([{"content": " "}], "empty"),
        ([{"reasoning": "Hm."}], "empty"),
        ([{"content": "It begins"}, {"error": {"message": "no"}}], "unavailable"),
        ([{"content": "It begins"}, {"cut": True}], "unavailable"),
    ],
)
def test_an_unstreamed_answer_that_is_none(client: Client, sandbox: Sandbox, script: list[Json], code: str) -> None:
    sandbox.script(*script)
    _, question_id = client.ask("Hello", stream=False, documents=False)
    last = client.events(question_id)[-1]
    assert (last["object"], last["code"]) == ("error", code)


@pytest.mark.parametrize("body", ["<html>login</html>", "", "[]", "{}", '{"choices": []}'])
def test_an_unstreamed_answer_that_is_no_completion(client: Client, sandbox: Sandbox, body: str) -> None:
    sandbox.fault(route="/v1/chat/completions", status=200, body=body)
    _, question_id = client.ask("Hello", stream=False, documents=False)
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", "unavailable")


# what is not there


def partitions(sandbox: Sandbox, instance: Instance) -> list[int]:
    """How the calls that make the partition of the instance went."""
    return [call["status"] for call in sandbox.calls(f"^/partition/{instance.domain}$", "POST")]


def test_a_partition_that_is_not_there_is_made_once(client: Client, sandbox: Sandbox, instance: Instance) -> None:
    sandbox.script({"content": "Hello."}, times=2)
    conversation_id, first = client.ask("One")
    assert objects(client.events(first)) == ["delta", "done"]
    _, second = client.ask("Two", conversation_id)
    assert objects(client.events(second)) == ["delta", "done"]
    assert partitions(sandbox, instance) == [201]
    assert [call["status"] for call in sandbox.calls("/v1/chat/completions")] == [404, 200, 200]


def test_a_partition_that_cannot_be_made(client: Client, sandbox: Sandbox) -> None:
    sandbox.fault(route="^/partition/[^/]*$", method="POST", status=503)
    _, question_id = client.ask("Hello")
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", "unavailable")


def test_an_openrag_that_is_down(answerer: Answerer, runtime: Runtime) -> None:
    server = {"default": RagServer(url="http://me:secret@127.0.0.1:1")}
    answerer.runtime = Runtime(runtime.config.model_copy(update={"rag": server}))
    question_id = answerer.ask("c", q="Hello")
    answerer.run()
    (event,) = answerer.events(question_id)
    assert (event["object"], event["code"]) == ("error", "unavailable")
    assert "secret" not in event["message"]


def test_a_conversation_that_is_gone(
    answerer: Answerer, sandbox: Sandbox, runtime: Runtime, instance: Instance
) -> None:
    question_id = answerer.ask("c", q="Hello", documents=False)
    runtime.store.delete(instance, CONVERSATIONS, runtime.store.get(instance, CONVERSATIONS, "c"))
    answerer.run()
    (event,) = answerer.events(question_id)
    assert (event["object"], event["code"]) == ("error", "gone")
    assert sandbox.completions() == []


def test_a_server_that_knows_no_partition_is_asked_twice(client: Client, sandbox: Sandbox, instance: Instance) -> None:
    sandbox.fault(route="/v1/chat/completions", status=404, body={"detail": "Not Found"}, times=None)
    _, question_id = client.ask("Hello")
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", "unavailable")
    assert partitions(sandbox, instance) == [201]
    assert len(sandbox.calls("/v1/chat/completions")) == 2


def test_the_llm_alone_needs_no_partition(client: Client, sandbox: Sandbox, instance: Instance) -> None:
    sandbox.fault(route="/v1/chat/completions", status=404, body={"detail": "Not Found"}, times=None)
    _, question_id = client.ask("Hello", documents=False)
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", "unavailable")
    assert partitions(sandbox, instance) == []


def test_a_scoped_question_makes_no_partition(
    client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance
) -> None:
    """Its workspace was there a moment before: no wider answer is given."""
    drive = Drive(runtime, instance)
    folder = drive.folder("/Recipes")
    runtime.openrag(instance).create_partition()
    runtime.openrag(instance).create_workspace(folder.id, "Recipes")
    sandbox.clear_calls()
    sandbox.fault(route="/v1/chat/completions", status=404, body={"detail": "Workspace not found"})
    _, question_id = client.ask("Hello", assistantID=drive.assistant(folder))
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", "unavailable")
    assert partitions(sandbox, instance) == []
    (asked,) = sandbox.calls("/v1/chat/completions")
    assert asked["json"]["metadata"]["workspace"] == folder.id


# refusals, and what is told of them


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "refused"), (413, "too_long"), (422, "refused"), (401, "unavailable"), (429, "unavailable"),
     (500, "unavailable"), (502, "unavailable"), (503, "unavailable"), (504, "unavailable")],
)  # fmt: skip
def test_a_refusal_is_told_in_words_and_in_a_code(
    client: Client, sandbox: Sandbox, saved: Saved, status: int, code: str, stream: bool
) -> None:
    trace = 'Traceback (most recent call last):\n  File "llm.py"\nhttp://me:secret@llm.test/v1 said no'
    sandbox.fault(route="/v1/chat/completions", status=status, body={"detail": trace})
    conversation_id, question_id = client.ask("Hello", documents=False, stream=stream)
    (event,) = client.events(question_id)
    assert set(event) == {"_id", "object", "message", "code"}
    assert (event["object"], event["code"]) == ("error", code)
    assert event["message"].endswith(".")
    assert not any(word in event["message"] for word in ("Traceback", "secret", "http", "llm", str(status)))
    assert len(saved(conversation_id)) == 1


def test_a_conversation_that_openrag_finds_too_long(client: Client, sandbox: Sandbox) -> None:
    sandbox.set(context_size=50)
    try:
        _, question_id = client.ask("Hello " * 100, documents=False)
        (event,) = client.events(question_id)
    finally:
        sandbox.set(context_size=32_000)
    assert (event["object"], event["code"]) == ("error", "too_long")


QUOTES = {
    "the key": f"Incorrect API key provided: {PROVIDER_KEY}.",
    "the key in JSON": '{\'api_key\': "sk-cl\\u00e9/12\\"34-and-more"}',
    "the key in a URL": "GET /?key=sk-cl%C3%A9%2F12%2234-and-more",
    "the key, cut": "x" * 480 + PROVIDER_KEY,
    "the URL": f"no connection to {PROVIDER_URL}",
    "the URL, with a path": "no connection to https://me:pass%20word@llm.test/v1/chat/completions?token=t0ken",
    "the URL of somebody else": "no connection to http://me:pass%20word@proxy.test:3128",
}


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("where", ["error chunk", "status", "validation"])
def test_no_secret_of_a_provider_is_told_or_logged(
    client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance, stack: Stack, quote: str, where: str
) -> None:
    account = {"auth": {"login": "large", "password": PROVIDER_KEY}, "data": {"baseUrl": PROVIDER_URL}}
    account_id = runtime.store.save(instance, ACCOUNTS, account)["_id"]
    provider = {"data": {"_id": account_id, "_type": ACCOUNTS, "metadata": {"providerId": "other"}}}
    assistant = Drive(runtime, instance).assistant(relationships={"provider": provider})
    override = {"model": "large", "base_url": PROVIDER_URL, "api_key": PROVIDER_KEY}
    log = Path(stack.data) / "logs" / "worker-query.log"
    before = len(log.read_bytes())
    if where == "error chunk":
        sandbox.script({"error": {"message": QUOTES[quote]}})
    else:
        refusal = {"msg": QUOTES[quote], "loc": ["body"], "input": {"metadata": {"llm_override": override}}}
        detail: Any = QUOTES[quote] if where == "status" else [refusal]
        sandbox.fault(route="/v1/chat/completions", status=500 if where == "status" else 422, body={"detail": detail})
    _, question_id = client.ask("Hello", assistantID=assistant, documents=False)
    (event,) = client.events(question_id)
    (asked,) = sandbox.calls("/v1/chat/completions")
    assert asked["json"]["metadata"]["llm_override"] == override
    logged = log.read_bytes()[before:].decode()
    assert any(question_id in line and "***" in line for line in logged.splitlines())
    assert not any(part in text for part in PROVIDER_PARTS for text in (event["message"], logged))


def test_a_web_search_without_the_documents_gives_no_sources(client: Client, sandbox: Sandbox, saved: Saved) -> None:
    web = {"source_type": "web", "url": "https://example.com", "title": "Milk", "snippet": "..."}
    sandbox.script({"content": "Milk."}, sources=[web])
    conversation_id, question_id = client.ask("Hello", documents=False, websearch=True)
    assert objects(client.events(question_id)) == ["delta", "done"]
    assert "sources" not in saved(conversation_id)[1]
    (body,) = sandbox.completions()
    assert body["metadata"] == {"websearch": True}
    sandbox.script({"content": "Milk."}, sources=[web])
    _, question_id = client.ask("Hello", conversation_id, websearch=True)
    events = client.events(question_id)
    ours = {"sourceType": "web", "doctype": "io.cozy.urls", "url": "https://example.com", "title": "Milk"}
    assert events[1]["content"] == [{**ours, "snippet": "..."}]


# saves that a client's own come before


def racing(answerer: Answerer, times: int) -> None:
    """Before each of the next saves of a conversation, a client renames it and writes the outcome of its action."""
    left = iter(range(times))

    class Raced(Store):
        def save(self, owner: Any, doctype: str, doc: Document, tell: bool = True) -> Document:
            if doctype == CONVERSATIONS and (number := next(left, None)) is not None:
                fresh = self.get(owner, doctype, doc["_id"])
                fresh["messages"][1]["action"] |= {"status": "done", "url": f"https://notes/{number}"}
                super().save(owner, doctype, {**fresh, "name": f"Name {number}"})
            return super().save(owner, doctype, doc, tell)

    runtime = Runtime(answerer.runtime.config)
    vars(runtime)["store"] = Raced(runtime.config.couchdb.url, runtime.publisher.publish)
    answerer.runtime = runtime


@pytest.fixture
def acted(answerer: Answerer, sandbox: Sandbox) -> Answerer:
    """Has proposed an action in the conversation `c`."""
    sandbox.script(call())
    answerer.ask("c", q="Note milk", tools=[NOTE], documents=False)
    answerer.run()
    return answerer


@pytest.mark.parametrize("conflicts", [1, 2])
@pytest.mark.parametrize("script", [{"content": "Hello."}, call()], ids=["an answer", "an action"])
def test_what_clients_write_stays_over_three_attempts(
    acted: Answerer, sandbox: Sandbox, runtime: Runtime, instance: Instance, conflicts: int, script: Json
) -> None:
    sandbox.script(script)
    question_id = acted.ask("c", q="Hello", tools=[NOTE], documents=False)
    racing(acted, conflicts)
    acted.run()
    assert objects(acted.events(question_id))[-1] == "done"
    doc = runtime.store.get(instance, CONVERSATIONS, "c")
    assert doc["name"] == f"Name {conflicts - 1}"
    assert doc["messages"][1]["action"]["url"] == f"https://notes/{conflicts - 1}"
    assert doc["messages"][1]["action"]["status"] == "done"
    assert [m["role"] for m in doc["messages"]] == ["user", "assistant"] * 2


@pytest.mark.parametrize("script", [{"content": "Hello."}, call()], ids=["an answer", "an action"])
def test_a_save_that_fails_three_times_is_told_as_an_error(
    acted: Answerer,
    sandbox: Sandbox,
    runtime: Runtime,
    instance: Instance,
    script: Json,
    caplog: pytest.LogCaptureFixture,
) -> None:
    sandbox.script(script)
    question_id = acted.ask("c", q="Hello", tools=[NOTE], documents=False)
    racing(acted, 3)
    with caplog.at_level(logging.WARNING):
        acted.run()
    events = acted.events(question_id)
    assert objects(events) == [*(["delta"] if "content" in script else []), "error"]
    assert events[-1]["code"] == "conflict"
    doc = runtime.store.get(instance, CONVERSATIONS, "c")
    assert doc["name"] == "Name 2"
    assert [m["role"] for m in doc["messages"]] == ["user", "assistant", "user"]
    assert f"question {question_id}: conflict" in caplog.text


def test_a_question_is_asked_over_what_clients_write_too(acted: Answerer, runtime: Runtime, instance: Instance) -> None:
    racing(acted, 2)
    acted.ask("c", q="Hello", documents=False)
    doc = runtime.store.get(instance, CONVERSATIONS, "c")
    assert doc["name"] == "Name 1"
    assert doc["messages"][2]["content"] == "Hello"
    acted.jobs.clear()
    racing(acted, 3)
    with pytest.raises(Conflict):
        acted.ask("c", q="Again", documents=False)
    assert [m["content"] for m in runtime.store.get(instance, CONVERSATIONS, "c")["messages"]][2:] == ["Hello"]
