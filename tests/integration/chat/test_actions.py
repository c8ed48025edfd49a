"""What a question with tools gives: who makes what, the events and their order, the saved message."""

import json
from typing import Any

import pytest

from ragcore.chat.tools import USER_WRITTEN_RULE, rules
from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document, Store
from tests.support.api import Client, question_of
from tests.support.chat import MAIL, MILK, NOTE, Answerer, Json, Saved, call, fragment, objects
from tests.support.files import Drive
from tests.support.sandbox import Sandbox

CHUNK = {"file_id": "f1", "filename": "milk.txt", "doctype": "io.cozy.files"}
SOURCE = {"source_type": "document", "chunk": CHUNK}
OURS = {"sourceType": "document", "id": "f1", "filename": "milk.txt", "doctype": "io.cozy.files"}
ACTION = {"name": "create_note", "params": MILK, "toolCallId": "call-1"}
HALF = '{"title": "Mi'


def proposed(events: list[Json]) -> Json:
    """The action of the events of a question."""
    (action,) = [event["action"] for event in events if event["object"] == "action"]
    return dict(action)


# who makes what, and in which order it is told


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("documents", [True, False])
def test_an_answer(client: Client, sandbox: Sandbox, saved: Saved, instance: Instance, documents, stream) -> None:
    sandbox.script({"reasoning": "No tool."}, {"content": "Buy milk."}, sources=[SOURCE])
    conversation_id, question_id = client.ask("What now?", tools=[NOTE], documents=documents, stream=stream)
    events = client.events(question_id)
    assert objects(events) == ["reasoning", "delta", *(["sources"] if documents else []), "done"]
    (body,) = sandbox.completions()
    assert body.get("model") == (f"openrag-{instance.domain}" if documents else None)
    assert body["stream"] is stream
    answer = saved(conversation_id)[1]
    expected = {"role": "assistant", "content": "Buy milk.", "reasoning": "No tool."}
    assert without_stamps(answer) == expected | ({"sources": [OURS]} if documents else {})


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("documents", [True, False])
def test_an_action(client: Client, sandbox: Sandbox, saved: Saved, instance: Instance, documents, stream) -> None:
    sandbox.script({"reasoning": "A note."}, call(), sources=[SOURCE])
    conversation_id, question_id = client.ask("Note milk", tools=[NOTE], documents=documents, stream=stream)
    events = client.events(question_id)
    assert objects(events) == ["reasoning", *(["sources"] if documents else []), "action", "done"]
    (body,) = sandbox.completions()
    assert body.get("model") == (f"openrag-{instance.domain}" if documents else None)
    answer = saved(conversation_id)[1]
    expected = {"role": "assistant", "content": "", "reasoning": "A note.", "action": ACTION}
    assert without_stamps(answer) == expected | ({"sources": [OURS]} if documents else {})
    told = {"_id": question_id, "object": "action", "message_id": answer["id"], "action": ACTION}
    assert events[-2] == told


def without_stamps(message: Json) -> Json:
    """Without its id and its date, which every message has."""
    assert message["id"]
    assert message["createdAt"].endswith("Z")
    return {key: value for key, value in message.items() if key not in ("id", "createdAt")}


@pytest.mark.parametrize("script", [[{"content": "Here."}, call()], [call(), {"content": "Here."}]])
def test_the_text_that_comes_with_a_call_is_told_and_saved_with_the_action(
    client: Client, sandbox: Sandbox, saved: Saved, script: list[Json]
) -> None:
    sandbox.script(*script, sources=[SOURCE])
    conversation_id, question_id = client.ask("Note milk", tools=[NOTE])
    assert objects(client.events(question_id)) == ["delta", "sources", "action", "done"]
    answer = saved(conversation_id)[1]
    assert (answer["content"], answer["action"]) == ("Here.", ACTION)
    assert "truncated" not in answer


def test_an_action_is_saved_before_it_is_told(sandbox: Sandbox, answerer: Answerer, instance: Instance) -> None:
    told_before: list[list[str]] = []

    class Watching(Store):
        def save(self, owner: Any, doctype: str, doc: Document, tell: bool = True) -> Document:
            if doctype == CONVERSATIONS:
                told_before.append(objects(answerer.events(question_id)))
            return super().save(owner, doctype, doc, tell)

    sandbox.script(call(), sources=[SOURCE])
    question_id = answerer.ask("c", q="Note milk", tools=[NOTE])
    with_store(answerer, Watching)
    answerer.run()
    assert told_before == [["sources"]]
    assert objects(answerer.events(question_id)) == ["sources", "action", "done"]


def with_store(answerer: Answerer, kind: type[Store]) -> None:
    """From now on the answerer reads and writes through another store, on the same database."""
    runtime = Runtime(answerer.runtime.config)
    vars(runtime)["store"] = kind(runtime.config.couchdb.url, runtime.publisher.publish)
    answerer.runtime = runtime


# the shapes of a streamed call


def chunk(finish: str | None = None, **delta: Any) -> Json:
    return {"chunk": {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}}


def raw(text: str) -> Json:
    """Bytes of the stream, one a character."""
    return {"raw": text.encode().decode("latin-1")}


def data(prefix: str = "data: ", end: str = "\n\n", title: str = "Milk") -> str:
    """A whole call as a gateway writes it."""
    delta = call(arguments=json.dumps({"title": title}, ensure_ascii=False))["delta"]
    return f"{prefix}{json.dumps({'choices': [{'delta': delta}]}, ensure_ascii=False)}{end}"


PIECES = ('{"title"', ': "Mi', 'lk"}')
FIRST = {"index": 0, "id": "call-1", "name": "create_note"}

SHAPES: dict[str, list[Json]] = {
    "as OpenAI streams": [fragment(**FIRST, type="function"), *(fragment(piece, index=0) for piece in PIECES)],
    "the name in every fragment": [fragment(piece, **FIRST) for piece in PIECES],
    "a missing index": [
        fragment(PIECES[0], id="call-1", name="create_note"),
        *(fragment(piece) for piece in PIECES[1:]),
    ],
    "whole in one fragment": [call()],
    "an object": [call(arguments={"title": "Milk"})],
    "two calls at once": [
        {"delta": {"tool_calls": [call()["delta"]["tool_calls"][0],
                                  {"index": 1, "id": "call-2", "function": {"name": "other", "arguments": "{}"}}]}},
    ],
    "two calls in turns": [
        fragment(PIECES[0], **FIRST), fragment("{", index=1, id="call-2", name="create_note"),
        fragment(PIECES[1], index=0), fragment("}", index=1), fragment(PIECES[2], index=0),
    ],
    "the finish reason stop": [call(), {"finish": "stop"}],
    "the finish reason in its chunk": [chunk("tool_calls", **call()["delta"])],
    "a final chunk of usage": [call(), {"chunk": {"choices": [], "usage": {"total_tokens": 3}}}],
    "CRLF": [raw(data(end="\r\n\r\n"))],
    "data without a space": [raw(data(prefix="data:"))],
    "comment lines": [raw(": ping\n\n"), fragment(PIECES[0], **FIRST), raw(": ping\n\n"),
                      fragment(PIECES[1] + PIECES[2], index=0), raw(":\n\n")],
    "no [DONE]": [call(), {"done": False}],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_is_put_together_from_every_shape(client: Client, sandbox: Sandbox, saved: Saved, shape: str) -> None:
    sandbox.script(*SHAPES[shape])
    conversation_id, question_id = client.ask("Note milk", tools=[NOTE], documents=False)
    events = client.events(question_id)
    assert objects(events) == ["action", "done"]
    assert proposed(events) == saved(conversation_id)[1]["action"] == ACTION
    assert len(sandbox.completions()) == 1


@pytest.mark.parametrize("call_id", [{}, {"id": ""}, {"id": None}], ids=["missing", "empty", "null"])
def test_a_call_without_an_id(client: Client, sandbox: Sandbox, saved: Saved, call_id: Json) -> None:
    """Its result answers a call all the same: see the results."""
    sandbox.script(fragment('{"title": "Milk"}', index=0, name="create_note", **call_id))
    conversation_id, question_id = client.ask("Note milk", tools=[NOTE], documents=False)
    assert proposed(client.events(question_id)) == {**ACTION, "toolCallId": ""}
    assert saved(conversation_id)[1]["action"]["name"] == "create_note"


@pytest.mark.parametrize("arguments", ["", None, "null", "{}", {}])
def test_a_call_without_arguments(client: Client, sandbox: Sandbox, arguments: Any) -> None:
    properties = {"s": {"type": "string"}, "n": {"type": "number"}, "l": {"type": "array", "items": {"type": "string"}}}
    parameters = {"type": "object", "properties": properties}
    tool = {"name": "sync", "description": "Synchronises.", "parameters": parameters}
    sandbox.script(call("sync", arguments))
    _, question_id = client.ask("Sync", tools=[tool], documents=False)
    expected = {"name": "sync", "params": {"s": "", "n": None, "l": []}, "toolCallId": "call-1"}
    assert proposed(client.events(question_id)) == expected


def test_a_character_that_the_network_cut(client: Client, sandbox: Sandbox) -> None:
    whole = data(title="Crème brûlée").encode()
    at = whole.index("û".encode()) + 1
    sandbox.script({"raw": whole[:at].decode("latin-1")}, {"sleep": 0.1}, {"raw": whole[at:].decode("latin-1")})
    _, question_id = client.ask("Note it", tools=[NOTE], documents=False)
    assert proposed(client.events(question_id))["params"]["title"] == "Crème brûlée"


def test_the_arguments_are_those_of_the_schema(client: Client, sandbox: Sandbox) -> None:
    kinds = {"s": "string", "n": "number", "i": "integer", "b": "boolean", "gone": "integer"}
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    listed = {"l": {"type": "array", "items": {"type": "string"}}}
    tool = {"name": "all", "description": "d", "parameters": {"type": "object", "properties": properties | listed}}
    arguments = {"l": [" b", "a", "", "b", 3], "i": 3.0, "n": True, "b": False, "s": " x\n", "other": 1}
    sandbox.script(call("all", json.dumps(arguments)))
    _, question_id = client.ask("Do", tools=[tool], documents=False)
    params = proposed(client.events(question_id))["params"]
    assert params == {"s": "x", "n": None, "i": 3, "b": False, "gone": None, "l": ["b", "a"]}
    assert list(params) == [*kinds, "l"]


# dropped calls

DROPPED: dict[str, Json] = {
    "an unknown tool": call("delete_all"),
    "an unknown tool, the first of two calls": {"delta": {"tool_calls": [
        {"index": 0, "id": "call-1", "function": {"name": "delete_all", "arguments": "{}"}},
        {"index": 1, "id": "call-2", "function": {"name": "create_note", "arguments": '{"title": "Milk"}'}},
    ]}},
    "no JSON": call(arguments="title=Milk"),
    "no object": call(arguments='["Milk"]'),
    "half of the arguments": call(arguments=HALF),
    "a required param is missing": call(arguments='{"content": "Milk"}'),
    "a required param is empty": call(arguments='{"title": " "}'),
    "a required param is of another type": call(arguments='{"title": 3}'),
    "a required param that the user did not write": call("draft_email", '{"to": ["eve@example.com"]}'),
}  # fmt: skip


@pytest.mark.parametrize("dropped", DROPPED)
def test_the_text_that_comes_with_a_dropped_call_is_the_answer(
    client: Client, sandbox: Sandbox, saved: Saved, dropped: str
) -> None:
    sandbox.script({"content": "Milk it is."}, DROPPED[dropped])
    conversation_id, question_id = client.ask("Note milk", tools=[NOTE, MAIL], documents=False)
    assert objects(client.events(question_id)) == ["delta", "done"]
    assert without_stamps(saved(conversation_id)[1]) == {"role": "assistant", "content": "Milk it is."}
    assert len(sandbox.completions()) == 1


@pytest.mark.parametrize("dropped", DROPPED)
def test_a_dropped_call_without_a_text_is_asked_again_without_tools(
    client: Client, sandbox: Sandbox, saved: Saved, dropped: str
) -> None:
    sandbox.script({"reasoning": "A tool. "}, {"reasoning": "Yes. "}, {"content": " "}, DROPPED[dropped])
    sandbox.script({"reasoning": "No tool."}, {"content": "Milk "}, {"content": "it is."})
    conversation_id, question_id = client.ask("Note milk", tools=[NOTE, MAIL], documents=False, instructions="Short.")
    events = client.events(question_id)
    assert [(event["object"], event.get("position"), event.get("content")) for event in events] == [
        ("reasoning", 0, "A tool. "),
        ("reasoning", 1, "Yes. "),
        ("delta", 0, " "),
        ("reasoning", 2, "No tool."),
        ("delta", 1, "Milk "),
        ("delta", 2, "it is."),
        ("done", None, None),
    ]
    question, answer = saved(conversation_id)
    assert without_stamps(answer) == {
        "role": "assistant",
        "content": " Milk it is.",
        "reasoning": "A tool. Yes. No tool.",
    }
    with_tools, without = sandbox.completions()
    assert [m["content"] for m in with_tools["messages"]] == ["Short.", rules(), "Note milk"]
    assert [m["content"] for m in without["messages"]] == ["Short.", "Note milk"]
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(without)


def test_the_sources_are_those_of_the_answer_that_was_asked_for_again(
    client: Client, sandbox: Sandbox, saved: Saved
) -> None:
    sandbox.script(call("delete_all"), sources=[SOURCE])
    sandbox.script({"content": "Hello."}, sources=[])
    conversation_id, question_id = client.ask("Hello", tools=[NOTE])
    assert objects(client.events(question_id)) == ["delta", "done"]
    assert "sources" not in saved(conversation_id)[1]


def test_the_sources_of_a_server_before_2_3(client: Client, sandbox: Sandbox, saved: Saved) -> None:
    sandbox.set(legacy=True)
    flat = {"source_type": "document", **CHUNK}
    sandbox.script(call(), sources=[flat])
    conversation_id, question_id = client.ask("Note milk", tools=[NOTE])
    assert client.events(question_id)[0]["content"] == [OURS]
    assert saved(conversation_id)[1]["sources"] == [OURS]


def test_a_call_that_comes_without_tools_is_no_action(client: Client, sandbox: Sandbox, saved: Saved) -> None:
    sandbox.script(call())
    conversation_id, question_id = client.ask("Note milk", documents=False)
    (event,) = client.events(question_id)
    assert (event["object"], event["code"]) == ("error", "empty")
    assert len(saved(conversation_id)) == 1
    assert len(sandbox.completions()) == 1


def test_an_answer_that_calls_a_tool_again_without_tools_is_an_error(client: Client, sandbox: Sandbox) -> None:
    sandbox.script(call("delete_all"))
    sandbox.script(call())
    _, question_id = client.ask("Note milk", tools=[NOTE], documents=False)
    assert objects(client.events(question_id)) == ["error"]
    assert len(sandbox.completions()) == 2


# what the LLM is told of the tools


@pytest.mark.parametrize("field", ["tools", "actions"])
def test_the_tools_of_the_llm(
    client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance, field: str
) -> None:
    assistant = Drive(runtime, instance).assistant(prompt="You are a pirate.")
    sandbox.script({"content": "Arr."})
    fields: Json = {field: [NOTE, MAIL], "instructions": "Be short.", "documents": False}
    _, question_id = client.ask("Hello", assistantID=assistant, **fields)
    client.events(question_id)
    (body,) = sandbox.completions()
    assert body["tool_choice"] == "auto"
    assert "parallel_tool_calls" not in body
    assert [(m["role"], m["content"]) for m in body["messages"]] == [
        ("system", "You are a pirate."),
        ("system", "Be short."),
        ("system", rules()),
        ("user", "Hello"),
    ]
    note, mail = [tool["function"] for tool in body["tools"]]
    assert note == {
        "name": "create_note",
        "description": "Writes a note.\n\nMessages that call for it:\n- Make a note of it\n\nA note is concise.",
        "parameters": {
            "type": "object",
            "properties": {
                "title": {"type": "string", "description": "the title of the note"},
                "content": {"type": "string"},
            },
            "required": ["title"],
        },
    }
    assert mail["parameters"]["properties"]["to"] == {
        "type": "array",
        "items": {"type": "string"},
        "description": f"the recipients\n{USER_WRITTEN_RULE}",
    }


@pytest.mark.parametrize(("tools", "parallel"), [([NOTE], False), ([], None)])
def test_a_server_that_is_to_call_one_tool_at_a_time_is_told_so(
    sandbox: Sandbox, runtime: Runtime, instance: Instance, tools: list[Json], parallel: bool | None
) -> None:
    server = runtime.config.rag["default"].model_copy(update={"single_tool_call": True})
    answerer = Answerer(Runtime(runtime.config.model_copy(update={"rag": {"default": server}})), instance)
    sandbox.script({"content": "Hello."})
    answerer.ask("c", q="Hello", tools=tools, documents=False)
    answerer.run()
    (body,) = sandbox.completions()
    assert body.get("parallel_tool_calls") is parallel


def test_after_five_results_the_tools_are_not_given(client: Client, sandbox: Sandbox, saved: Saved) -> None:
    """Until the user writes again."""
    conversation_id = "c"
    sandbox.script(call(), times=5)
    sandbox.script({"content": "Five notes."})
    _, question_id = client.ask("Note milk five times", conversation_id, tools=[NOTE], documents=False)
    for _ in range(5):
        message_id = client.events(question_id)[0]["message_id"]
        body = {"result": {"messageID": message_id, "ok": True}, "tools": [NOTE], "documents": False}
        question_id = question_of(client.post(conversation_id, body))
    assert objects(client.events(question_id)) == ["delta", "done"]
    sandbox.script({"content": "Hello."})
    client.events(client.ask("Hello", conversation_id, tools=[NOTE], documents=False)[1])
    bodies = sandbox.completions()
    assert ["tools" in body for body in bodies] == [True] * 5 + [False, True]
    assert [rules() in [m["content"] for m in body["messages"]] for body in bodies] == [True] * 5 + [False, True]
    assert len(saved(conversation_id)) == 14


# values that the user wrote


@pytest.mark.parametrize(
    ("value", "text", "written"),
    [
        ("PAUL@example.com", "Is it Paul@example.com?", ["Paul@example.com"]),
        ("claire@example.com", "Write to marie-claire@example.com", []),
        ("paul@example.co", "Write to paul@example.com", []),
        ("paul@example.com", "Write to p\u0430ul@example.com", []),  # theirs has a Cyrillic letter
        ("Paul  Martin", "Write to paul\n martin", ["paul martin"]),
        ("équipe.", "Écris à l'équipe", ["équipe"]),
        ("pa\u200bul", "Write to paul", []),
    ],
)
def test_a_value_is_as_the_user_typed_it(
    client: Client, sandbox: Sandbox, value: str, text: str, written: list[str]
) -> None:
    optional = {**MAIL, "parameters": {**MAIL["parameters"], "required": []}}
    sandbox.script(call("draft_email", json.dumps({"to": [value], "body": value})))
    _, question_id = client.ask(text, tools=[optional], documents=False)
    assert proposed(client.events(question_id))["params"] == {"to": written, "body": value.strip()}


def test_nothing_that_the_user_did_not_type_counts_as_typed(
    client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance
) -> None:
    """Not a document, an answer, a prompt, an instruction, a result, nor what a client wrote as the system."""
    assistant = Drive(runtime, instance).assistant(prompt="Write to prompt@example.com.")
    names = ["system", "prompt", "instruction", "answer", "action", "result", "document", "user"]
    store = runtime.store
    system = {"id": "s", "role": "system", "content": "system@example.com"}
    store.save(instance, CONVERSATIONS, {"_id": "c", "messages": [system], "relationships": {
        "assistant": {"data": {"_id": assistant, "_type": "io.cozy.ai.chat.assistants"}}}})  # fmt: skip
    source = {"source_type": "document", "chunk": {"file_id": "f", "filename": "document@example.com"}}
    sandbox.script({"content": "answer@example.com"}, call(arguments='{"title": "action@example.com"}'))
    _, first = client.ask("Write to USER@example.com", "c", tools=[NOTE])
    message_id = client.events(first)[-2]["message_id"]
    to = [f"{name}@example.com" for name in names]
    sandbox.script(call("draft_email", json.dumps({"to": to})), sources=[source])
    result = {"messageID": message_id, "ok": True, "content": "result@example.com"}
    response = client.post("c", {"result": result, "tools": [MAIL], "instructions": "instruction@example.com"})
    events = client.events(question_of(response))
    assert proposed(events)["params"]["to"] == ["USER@example.com"]


def test_what_was_typed_in_a_question_without_an_answer_counts(client: Client, sandbox: Sandbox) -> None:
    sandbox.script({"error": {"message": "no"}})
    conversation_id, failed = client.ask("Write to Paul", documents=False)
    client.events(failed)
    sandbox.script(call("draft_email", '{"to": ["paul"]}'))
    _, question_id = client.ask("Do it", conversation_id, tools=[MAIL], documents=False)
    assert proposed(client.events(question_id))["params"]["to"] == ["Paul"]
    assert [m["content"] for m in sandbox.completions()[-1]["messages"]] == [rules(), "Do it"]
