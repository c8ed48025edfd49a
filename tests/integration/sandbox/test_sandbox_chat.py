import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests
from sandbox_client import new_client, read_events, wait_for


@pytest.fixture
def filled(client: Any) -> Any:
    client.workspace("home")
    client.index(
        "lease",
        "The lease ends in June. The rent is 850 euros.",
        "lease.txt",
        metadata={"doctype": "io.cozy.files"},
        workspace_ids='["home"]',
    )
    client.index("garden", "Tomatoes are planted in May. No rent is asked for the garden.", "garden.txt")
    return client


def text_of(events: list[Any]) -> str:
    deltas = [choice["delta"] for event in events[:-1] for choice in event["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


def source_ids(extra: Any) -> list[str]:
    return [source["chunk"]["file_id"] for source in extra["sources"]]


def test_an_answer_streams_word_by_word_with_its_sources_at_the_end(filled: Any) -> None:
    response = filled.chat("How much is the rent?", stream=True)
    assert response.headers["Content-Type"].startswith("text/event-stream")
    *chunks, done = read_events(response)
    assert done == "[DONE]"
    assert len(chunks) > 10
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert all(chunk["extra"] == {} for chunk in chunks[:-1])
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert source_ids(chunks[-1]["extra"])[0] == "lease"
    assert "The rent is 850 euros. [1]" in text_of([*chunks, done]).replace("”", "")


def test_an_answer_in_one_piece(filled: Any) -> None:
    answer = filled.chat("How much is the rent?").json()
    assert answer["object"] == "chat.completion"
    assert "850 euros" in answer["choices"][0]["message"]["content"]
    source = answer["extra"]["sources"][0]
    assert source["source_type"] == "document"
    assert source["chunk"].items() >= {"filename": "lease.txt", "page": 1, "doctype": "io.cozy.files"}.items()
    assert filled.server.session.get(source["chunk_url"]).status_code == 200
    assert filled.server.session.get(source["file_url"]).status_code == 200


def test_retrieval_is_scoped_to_the_workspace_else_to_the_attachments(filled: Any) -> None:
    def asked(**metadata: Any) -> list[str]:
        return source_ids(filled.chat("the rent of the garden", metadata=metadata).json()["extra"])

    assert set(asked()) == {"lease", "garden"}
    assert asked(workspace="home") == ["lease"]
    assert asked(attachments=[{"id": "garden"}]) == ["garden"]
    assert asked(workspace="home", attachments=[{"id": "garden"}]) == ["lease"]


def test_a_short_question_leans_on_the_one_before(filled: Any) -> None:
    messages = [
        {"role": "user", "content": "How much is the rent of the flat?"},
        {"role": "assistant", "content": "850 euros"},
        {"role": "user", "content": "Why?"},
    ]
    assert "lease" in source_ids(filled.chat(messages=messages).json()["extra"])


def test_the_older_model_name_and_the_llm_alone(filled: Any) -> None:
    older = filled.chat("rent", model=f"ragondin-{filled.partition}").json()
    assert older["extra"]["sources"]
    for model in ("", None):
        assert filled.chat("rent", model=model).json()["extra"] == {"sources": []}


def test_the_refusals_of_a_completion(filled: Any) -> None:
    def status(**body: Any) -> int:
        code: int = filled.chat(**body).status_code
        return code

    assert status(model="openrag-none.example.org") == 404
    assert status(model="gpt-9") == 404
    assert status(metadata={"workspace": "none"}) == 404
    assert status(messages=[]) == 400
    assert status(messages=[{"role": "user", "content": "  "}]) == 400
    assert status(messages=[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]) == 400
    assert status(messages=[{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]) == 200
    assert status(messages="no") == 422
    assert status(metadata={"attachments": ["f"]}) == 422
    assert status(metadata="no") == 422
    assert filled.call("POST", "/v1/chat/completions", data=b"{").status_code == 422
    filled.server.control("POST", "settings", {"context_size": 50})
    assert status(tools=[{"type": "function", "function": {"description": "x" * 400}}]) == 413


def test_an_older_server_encodes_extra_as_text(filled: Any) -> None:
    filled.server.control("POST", "settings", {"legacy": True})
    *chunks, _ = read_events(filled.chat("rent", stream=True))
    assert {chunk["extra"] for chunk in chunks[:-1]} == {""}
    assert "file_id" in json.loads(chunks[-1]["extra"])["sources"][0]


def test_a_usage_chunk_without_choices(filled: Any) -> None:
    events = read_events(filled.chat("rent", stream=True, stream_options={"include_usage": True}))
    assert events[-2]["choices"] == []
    assert events[-2]["usage"]["total_tokens"] > 0
    assert events[-2]["extra"]["sources"]


def test_a_scripted_stream(filled: Any) -> None:
    fragment = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    filled.script(
        {"reasoning": "hm"},
        {"content": "yes"},
        {"raw": ": ping\r\n\r\n"},
        {"raw": "data: \xc3"},
        {"raw": "\xa9\n\n"},
        {"delta": {"tool_calls": [fragment]}},
    )
    body = filled.chat("rent", stream=True).content.decode()
    assert ": ping\r\n\r\n" in body
    assert "data: é\n\n" in body
    chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"reasoning_content": "hm"},
        {"content": "yes"},
        {"tool_calls": [fragment]},
        {},
    ]
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["extra"]["sources"]


def test_scripts_match_and_are_used_up(filled: Any) -> None:
    filled.script({"content": "any"})
    filled.script({"content": "special"}, match="tomato", times=2, sources=[{"source_type": "web", "url": "u"}])

    def ask(question: str) -> Any:
        return filled.chat(question).json()

    first = ask("a tomato")
    assert first["choices"][0]["message"]["content"] == "special"
    assert first["extra"]["sources"] == [{"source_type": "web", "url": "u"}]
    assert ask("rent")["choices"][0]["message"]["content"] == "any"
    assert ask("a tomato")["choices"][0]["message"]["content"] == "special"
    assert "No language model" in ask("a tomato")["choices"][0]["message"]["content"]


def test_a_scripted_call_is_joined_when_not_streamed(filled: Any) -> None:
    def fragment(**function: str) -> dict[str, Any]:
        return {"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}}

    filled.script({"content": "so"}, fragment(name="f", arguments='{"a"'), fragment(arguments=": 1}"))
    choice = filled.chat("rent").json()["choices"][0]
    assert choice["message"]["content"] == "so"
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}
    assert choice["finish_reason"] == "tool_calls"


def test_the_ways_a_scripted_stream_can_end(filled: Any) -> None:
    filled.script({"content": "a"}, {"error": {"message": "boom", "code": "x"}})
    events = read_events(filled.chat(stream=True))
    assert events[-2]["error"] == {"message": "boom", "code": "x", "type": "server_error", "param": None}
    assert events[-1] == "[DONE]"
    filled.script({"error": {"message": "boom"}})
    assert filled.chat().status_code == 500
    filled.script({"content": "a"}, {"done": False})
    assert read_events(filled.chat(stream=True))[-1]["choices"][0]["finish_reason"] == "stop"
    filled.script({"content": "a"}, {"done": False}, {"finish": None})
    assert text_of([*read_events(filled.chat(stream=True)), ""]) == "a"
    filled.script({"content": "a"}, {"extra": {"truncated": True}})
    assert read_events(filled.chat(stream=True))[-2]["extra"]["truncated"] is True
    filled.script({"content": "a"}, {"cut": True})
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        _ = filled.chat(stream=True).content


def test_a_client_that_closes_early_is_noticed_while_nothing_is_sent(filled: Any) -> None:
    filled.script({"content": "a"}, {"sleep": 60}, {"content": "b"})
    response = filled.chat("unlikely words", stream=True)
    next(response.iter_lines())
    response.close()

    def closed() -> bool:
        return any(call["closed_early"] for call in filled.calls("completions"))

    wait_for(closed, 3)


def test_a_stream_is_held_until_it_is_released(filled: Any) -> None:
    filled.script({"content": "a"}, {"hold": "middle"}, {"content": "b"})
    lines = filter(None, filled.chat("unlikely words", stream=True).iter_lines(chunk_size=1))
    assert b'"a"' in next(lines)
    filled.server.control("DELETE", "holds/middle")
    assert b'"b"' in next(lines)


def test_a_client_that_does_not_wait_for_its_headers_is_noticed(filled: Any) -> None:
    filled.server.control("POST", "faults", {"route": "completions", "delay": 60})
    with pytest.raises(requests.exceptions.ReadTimeout):
        requests.post(f"{filled.server.url}/v1/chat/completions", json={"messages": []}, timeout=0.3)
    wait_for(lambda: filled.calls("completions")[-1]["closed_early"], 3)


def test_a_bad_script_is_refused(filled: Any) -> None:
    for script in ("x", [{"what": 1}], [3], [{"content": "a", "sleep": 1}]):
        assert filled.server.call("POST", "/_sandbox/llm", json={"script": script}).status_code == 422


class Upstream(ThreadingHTTPServer):
    """An OpenAI-compatible server that keeps what it is sent and answers with set lines."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.lines: list[Any] = []
        self.status = 200
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Upstream

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()
        for line in self.server.lines:
            text = line if isinstance(line, str) else json.dumps(line)
            self.wfile.write(f"data: {text}\n\n".encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def chunk(delta: Any, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_without_an_llm_the_search_tool_is_called_once(client: Any) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("other", "search_knowledge_base")]
    messages = [{"role": "user", "content": "the rent?"}]
    whole = client.chat(messages=messages, model="", tools=tools).json()["choices"][0]
    (call,) = whole["message"]["tool_calls"]
    assert (call["function"], whole["finish_reason"]) == (
        {"name": "search_knowledge_base", "arguments": '{"query": "the rent?"}'}, "tool_calls"
    )  # fmt: skip
    passage = {"number": 3, "file": "lease.txt", "text": "The rent is 850 euros."}
    result = {"role": "tool", "tool_call_id": call["id"], "content": json.dumps({"found": 1, "passages": [passage]})}
    asked = [*messages, {**whole["message"], "content": ""}, result]
    answer = client.chat(messages=asked, model="", tools=tools).json()["choices"][0]["message"]
    assert "850 euros.” [3]" in answer["content"]


def test_an_llm_gets_the_passages_and_its_stream_goes_through(start: Callable[..., Any], upstream: Upstream) -> None:
    url = f"http://127.0.0.1:{upstream.server_port}/v1"
    client = new_client(start(SANDBOX_LLM_URL=url, SANDBOX_LLM_MODEL="small"))
    client.index("lease", "The rent is 850 euros.")
    upstream.lines = [chunk({"content": "850"}), chunk({}, "stop"), {"choices": [], "usage": {"n": 1}}, "[DONE]"]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "the rent?"}]
    *chunks, done = read_events(client.chat(messages=messages, stream=True, tools=[], temperature=0.1))
    assert done == "[DONE]"
    assert text_of([*chunks, done]) == "850"
    assert [bool(event["extra"]) for event in chunks] == [False, True, True]
    assert source_ids(chunks[-1]["extra"]) == ["lease"]
    body = upstream.bodies[0]
    assert (body["model"], body["temperature"], body["tools"]) == ("small", 0.1, [])
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "Be brief." in body["messages"][0]["content"]
    assert "[1] note.txt, page 1:\nThe rent is 850 euros." in body["messages"][0]["content"]
    client.chat(messages=messages, model="")
    assert upstream.bodies[1]["messages"] == messages


def test_an_llm_that_fails(client: Any, upstream: Upstream) -> None:
    override = {"model": "m", "api_key": "k", "base_url": f"http://127.0.0.1:{upstream.server_port}"}

    def ask() -> requests.Response:
        answer: requests.Response = client.chat(stream=True, metadata={"llm_override": override})
        return answer

    upstream.lines = [chunk({"content": "8"})]
    *chunks, done = read_events(ask())
    assert (chunks[-1]["extra"]["truncated"], done) == (True, "[DONE]")
    upstream.lines = [chunk({"content": "8"}), {"error": {"message": "boom"}}]
    assert read_events(ask())[-2]["error"]["message"] == "boom"
    upstream.status = 503
    assert ask().status_code == 500
    override["base_url"] = "http://127.0.0.1:1"
    assert ask().status_code == 502


def test_two_hundred_streams_stand_side_by_side(client: Any) -> None:
    """None waits for the end of another: all have begun before any ends."""
    streams = 200
    client.script({"content": "a"}, {"hold": "all"}, {"content": "b"}, times=streams)
    begun: list[None] = []
    read: list[str] = []

    def follow() -> None:
        lines = filter(None, client.chat(stream=True, model="").iter_lines(chunk_size=1))
        first = next(lines)
        begun.append(None)
        read.append("".join(line.decode() for line in (first, *lines)))

    client.server.session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=streams))
    threads = [threading.Thread(target=follow) for _ in range(streams)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(begun) == streams, 30)
    assert read == []
    client.server.control("DELETE", "holds/all")
    for thread in threads:
        thread.join()
    assert len(read) == streams
    assert all('"a"' in text and '"b"' in text and "[DONE]" in text for text in read)


def test_passages_that_the_messages_hold_are_quoted(client: Any) -> None:
    """What a client found itself, and asks the LLM alone about."""
    passages = [
        {"number": 1, "file": "lease.pdf", "page": 3, "text": "The lease ends in June. The rent is 850 euros."},
        {"number": 2, "file": "garden.txt", "text": "No rent is asked for the garden."},
    ]
    system = "\n".join(["Answer from these:", "[]", "{", *map(json.dumps, passages)])
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "How much is the rent?"}]
    answer = client.call("POST", "/v1/chat/completions", json={"messages": messages}).json()
    text = answer["choices"][0]["message"]["content"]
    assert "“The rent is 850 euros.” [1] (lease.pdf, page 3)" in text
    assert "“No rent is asked for the garden.” [2] (garden.txt)" in text
