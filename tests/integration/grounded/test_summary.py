"""The summary of a long conversation, refreshed in the background."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from ragcore.documents import CONVERSATIONS
from ragcore.grounded.prompt import SUMMARY, WINDOW
from ragcore.runtime import Runtime
from tests.support.grounded import Library
from tests.support.sandbox import Sandbox

QUESTION = "How do I reset the boiler?"

Json = dict[str, Any]


@pytest.fixture
def long(library: Library, runtime: Runtime) -> Callable[..., str]:
    """The id of a conversation of so many pairs."""

    def make(pairs: int, **fields: Any) -> str:
        said = [(role, f"{role} {n} [1]") for n in range(pairs) for role in ("user", "assistant")]
        messages = [{"id": f"m{n}", "role": role, "content": content} for n, (role, content) in enumerate(said)]
        made: str = runtime.store.save(library.instance, CONVERSATIONS, {"messages": messages, **fields})["_id"]
        return made

    return make


@pytest.fixture
def summary(library: Library, runtime: Runtime) -> Callable[[str], Json]:
    return lambda conversation: runtime.store.get(library.instance, CONVERSATIONS, conversation).get("summary", {})


def notes(sandbox: Sandbox) -> list[Json]:
    """The completions that made summaries."""
    return [body for body in sandbox.completions() if body["messages"][-1]["content"].startswith('{"notes"')]


def test_it_goes_on_from_the_one_before(
    library: Library, sandbox: Sandbox, long: Callable, summary: Callable, until: Callable
) -> None:
    conversation = long(WINDOW + 2, summary={"text": "Of pair 0.", "upTo": "m1"})
    sandbox.script({"content": "Hold it [1]."}, match=QUESTION)
    sandbox.script({"content": "Of pairs 0 to 2."}, match='"notes"')
    events = library.ask(QUESTION, conversation)
    assert events[-1]["type"] == "saved"
    until(lambda: summary(conversation).get("upTo") == "m5")
    assert summary(conversation)["text"] == "Of pairs 0 to 2."
    (body,) = notes(sandbox)
    assert "model" not in body
    assert [json.loads(line) for line in body["messages"][-1]["content"].splitlines()] == [
        {"notes": "Of pair 0."}, {"user": "user 1"}, {"assistant": "assistant 1"}, {"user": "user 2"},
        {"assistant": "assistant 2"},
    ]  # fmt: skip
    sandbox.script({"content": "Hold it [1]."}, match=QUESTION)
    sandbox.clear_calls()
    library.ask(QUESTION, conversation)
    sent = next(body for body in sandbox.completions() if body["messages"][-1]["content"] == QUESTION)["messages"]
    assert f"{SUMMARY}\nOf pairs 0 to 2." in [message["content"] for message in sent]
    assert len([message for message in sent if message["role"] != "system"]) == 2 * WINDOW + 1
    until(lambda: summary(conversation).get("upTo") == "m7")


def test_a_short_conversation_has_none(library: Library, sandbox: Sandbox, long: Callable, summary: Callable) -> None:
    conversation = long(WINDOW - 1)
    sandbox.script({"content": "Hold it [1]."})
    library.ask(QUESTION, conversation)
    assert summary(conversation) == {}
    assert notes(sandbox) == []


def test_a_refresh_that_fails_is_made_up_for_by_the_next(
    library: Library, sandbox: Sandbox, long: Callable, summary: Callable, until: Callable
) -> None:
    conversation = long(WINDOW)
    sandbox.script({"content": "Hold it [1]."}, match=QUESTION, times=2)
    sandbox.script({"error": {"message": "out of memory"}}, match='"notes"')
    library.ask(QUESTION, conversation)
    until(lambda: sandbox.calls("/v1/chat/completions")[-1]["status"] == 500)
    assert summary(conversation) == {}
    sandbox.script({"content": "Of both."}, match='"notes"')
    library.ask(QUESTION, conversation)
    until(lambda: summary(conversation).get("upTo") == "m3")
    said = notes(sandbox)[-1]["messages"][-1]["content"]
    assert [n for n in range(WINDOW) if f"user {n}" in said] == [0, 1]


def test_a_very_long_one_is_summed_up_step_by_step(
    library: Library, sandbox: Sandbox, long: Callable, summary: Callable, until: Callable
) -> None:
    conversation = long(25 + WINDOW)
    sandbox.script({"content": "Hold it [1]."}, match=QUESTION)
    for n in (1, 2, 3):
        sandbox.script({"content": f"Step {n}."}, match='"notes"')
    library.ask(QUESTION, conversation)
    until(lambda: summary(conversation).get("text") == "Step 3.")
    assert summary(conversation)["upTo"] == f"m{2 * 26 - 1}"
    assert [json.loads(body["messages"][-1]["content"].splitlines()[0])["notes"] for body in notes(sandbox)] == [
        "", "Step 1.", "Step 2."
    ]  # fmt: skip
