"""An openRAG that is away, refuses, or streams what is no answer: each question is answered, or told why not."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest

from deploy.local.stack import Stack
from ragcore.chat.stream import LARGEST_ANSWER
from ragcore.documents import CONVERSATIONS
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start
from tests.support.api import Client
from tests.support.chaos import Tell, whole
from tests.support.sandbox import Sandbox

LIMITS = {"headers_timeout": "2s", "silence_timeout": "2s"}
SLOW = 0.4  # seconds: well below these
TOO_SLOW = 60  # seconds
TOLD = 20.0  # seconds
MiB = 1 << 20
MORE = 150 * MiB  # of a worker's memory: a text of 10 MiB is there several times while it is parsed

Json = dict[str, Any]


def event(content: str) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}]}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def raw(content: bytes) -> Json:
    return {"raw": content.decode("latin-1")}


def halves(content: bytes, second: bytes) -> list[bytes]:
    at = content.index(second)
    return [content[:at], content[at:]]


@dataclass(frozen=True)
class Odd:
    """What openRAG does, as a script of the LLM or a fault of the route, and what becomes of the question: the answer,
    which may be cut short, or the code of an error."""

    script: list[Json] = field(default_factory=list)
    fault: Json = field(default_factory=dict)
    answer: str = ""
    cut_short: bool = False
    code: str = ""
    stream: bool = True


BEGUN, SILENT = {"content": "It begins"}, {"sleep": TOO_SLOW}
HALF_EVENT = raw(event("never seen")[:-20])
HTML = {"body": "<html><p>Sign in</p></html>", "headers": {"Content-Type": "text/html"}}
WORDS = "Bytes, one by one: é, 世界."

CASES = {
    "slow": Odd([BEGUN, {"sleep": SLOW}, {"content": ", and ends"}], answer="It begins, and ends"),
    "slow to begin": Odd(fault={"delay": SLOW}, script=[BEGUN], answer="It begins"),
    "too slow to begin": Odd(fault={"delay": TOO_SLOW}, code="unavailable"),
    "500": Odd(fault={"status": 500, "body": {"detail": "Internal Server Error"}}, code="unavailable"),
    "500 with 10 MiB of words": Odd(fault={"status": 500, "body": "x" * (10 * MiB)}, code="unavailable"),
    "502 in HTML": Odd(fault={"status": 502} | HTML, code="unavailable"),
    "429 with Retry-After: 60": Odd(fault={"status": 429, "headers": {"Retry-After": "60"}}, code="unavailable"),
    "HTML": Odd(fault={"status": 200} | HTML, code="unavailable"),
    "HTML, unstreamed": Odd(fault={"status": 200} | HTML, stream=False, code="unavailable"),
    "an empty body": Odd(fault={"status": 200, "body": ""}, code="unavailable"),
    "an empty body, unstreamed": Odd(fault={"status": 200, "body": ""}, stream=False, code="unavailable"),
    "a cut connection": Odd(fault={"cut": True}, code="unavailable"),
    "half a stream": Odd([BEGUN, {"cut": True}], answer="It begins", cut_short=True),
    "half an event": Odd([BEGUN, HALF_EVENT, {"cut": True}], answer="It begins", cut_short=True),
    "half an event, nothing before": Odd([HALF_EVENT, {"cut": True}], code="unavailable"),
    "a stream that stalls": Odd([BEGUN, SILENT], answer="It begins", cut_short=True),
    "a stream that stalls at once": Odd([SILENT], code="unavailable"),
    "a stream that stalls in an event": Odd([BEGUN, HALF_EVENT, SILENT], answer="It begins", cut_short=True),
    "one byte at a time": Odd([raw(bytes([byte])) for byte in event(WORDS)], answer=WORDS),
    "10 MiB in one chunk": Odd([{"content": "x" * (10 * MiB)}], answer="x" * LARGEST_ANSWER, cut_short=True),
    "10 MiB, unstreamed": Odd(
        [{"content": "x" * (10 * MiB)}], stream=False, answer="x" * LARGEST_ANSWER, cut_short=True
    ),
    "20 MiB without the end of a line": Odd([raw(b"x" * (20 * MiB))], code="unavailable"),
    "20 MiB, unstreamed": Odd(fault={"status": 200, "body": "x" * (20 * MiB)}, stream=False, code="unavailable"),
    "invalid UTF-8": Odd([raw(event("caf?").replace(b"?", b"\xe9"))], answer="caf\ufffd"),
    "UTF-8 in two pieces": Odd([raw(half) for half in halves(event("é"), b"\xa9")], answer="é"),
    "invalid JSON": Odd([BEGUN, raw(b'data: {"choices": [\n\n'), {"content": "."}], answer="It begins."),
    "invalid JSON, nothing else": Odd([raw(b"data: {]\n\n")], code="empty"),
    "JSON that is no chunk": Odd([BEGUN, raw(b"data: [1, null]\n\ndata: {}\n\n")], answer="It begins"),
}


LIKE_OTHERS = {
    "slow to begin",
    "500",
    "500 with 10 MiB of words",
    "HTML, unstreamed",
    "an empty body, unstreamed",
    "half an event, nothing before",
    "a stream that stalls at once",
    "a stream that stalls",
    "10 MiB, unstreamed",
    "20 MiB, unstreamed",
}  # of the whole form alone


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api", "worker-query", jobs={"rag-query": LIMITS}) as stack:
        yield stack


@dataclass
class Asked:
    """What became of a question."""

    answer: Json | None
    ends: list[str]
    seconds: float


@pytest.fixture
def ask(client: Client, runtime: Runtime) -> Callable[..., Asked]:
    def asked(**fields: Any) -> Asked:
        began = time.monotonic()
        conversation, question = client.ask("Hello", documents=False, **fields)
        ends = [doc.get("code", "done") for doc in client.events(question) if doc["object"] in ("done", "error")]
        _, *answers = runtime.store.get(client.instance, CONVERSATIONS, conversation)["messages"]
        return Asked(answers[0] if answers else None, ends, time.monotonic() - began)

    return asked


def well(ask: Callable[..., Asked], sandbox: Sandbox) -> bool:
    """Whether the next question is answered."""
    sandbox.script({"content": "Well."})
    return ask().ends == ["done"]


def figures(asked: Asked) -> Json:
    told = [end for end in asked.ends if end != "done"]
    cut_short = bool(asked.answer and asked.answer.get("truncated"))
    return {
        "answered": f"{int(asked.answer is not None)}{' (cut short)' if cut_short else ''}",
        "told error": f"{len(told)}{''.join(f' ({code})' for code in told)}",
        "hung": int(not asked.ends),
        "s": round(asked.seconds, 1),
    }


@pytest.mark.parametrize("name", [pytest.param(name, marks=[whole] * (name in LIKE_OTHERS)) for name in CASES])
def test_an_odd_openrag(own: Stack, sandbox: Sandbox, ask: Callable[..., Asked], tell: Tell, name: str) -> None:
    case = CASES[name]
    worker = psutil.Process(own.processes["worker-query"].pid)
    memory = worker.memory_info().rss
    if case.script:
        sandbox.script(*case.script)
    if case.fault:
        sandbox.fault(route="/v1/chat/completions", **case.fault)
    asked = ask(stream=case.stream)
    more = worker.memory_info().rss - memory
    tell("an answer", f"openRAG: {name}", **figures(asked))
    assert asked.ends == [case.code or "done"]
    assert asked.seconds < TOLD
    assert (asked.answer or {}).get("content", "") == case.answer
    assert (asked.answer or {}).get("truncated", False) is case.cut_short
    assert more < MORE
    assert well(ask, sandbox)


def test_an_openrag_that_is_down(own: Stack, sandbox: Sandbox, ask: Callable[..., Asked], tell: Tell) -> None:
    own.processes["openrag"].kill()
    asked = ask()
    tell("an answer", "openRAG is down", **figures(asked))
    own.processes["openrag"].start()
    assert asked.ends == ["unavailable"]
    assert asked.answer is None
    assert well(ask, sandbox)
