"""A turn of the agent, from its POST to the saved message, over real processes: the seed's "Workspace Agent"."""

import json
from typing import Any

from tests.support.grounded import Library, calls, kinds, sources_of, text_of, tools_of, used
from tests.support.sandbox import Sandbox

QUESTION = "How do I reset the boiler?"
NOTHING = "I found nothing about this in your documents."
SEARCH = "search_knowledge_base"

Json = dict[str, Any]


def results(body: Json) -> list[Json]:
    """What the tools gave, as the LLM is told it in a completion."""
    return [json.loads(message["content"]) for message in body["messages"] if message["role"] == "tool"]


def test_a_turn_searches_answers_and_is_saved(library: Library, sandbox: Sandbox) -> None:
    sandbox.script({"content": "Let me look."}, calls((SEARCH, {"query": "reset boiler"})), used(50, 5))
    sandbox.script({"content": "Hold the red "}, {"content": "button [1"}, {"content": "]."}, used(90, 10))
    events = library.tell(QUESTION)
    assert kinds(events) == ["tool", "delta", "sources", "saved"]
    called, done = tools_of(events)
    assert called == {"id": "id-0", "name": SEARCH, "status": "call", "detail": {"query": "reset boiler"}}
    assert (done["id"], done["status"]) == ("id-0", "done")
    assert done["detail"]["found"] >= 2
    assert "heating.md" in done["detail"]["files"]
    assert text_of(events) == "Hold the red button [1]."
    (source,) = sources_of(events)
    assert (source["number"], source["cited"]) == (1, True)
    saved = events[-1]
    assert (saved["conversation"]["title"], saved["usage"]["total_tokens"]) == (QUESTION, 155)
    question, answer = library.saved(events)
    assert (question["surface"], answer["surface"]) == ("agent", "agent")
    assert (answer["content"], answer["sources"]) == ("Hold the red button [1].", [source])
    first, second = sandbox.completions()
    assert "model" not in first
    assert first["stream_options"] == {"include_usage": True}
    assert SEARCH in [tool["function"]["name"] for tool in first["tools"]]
    (result,) = results(second)
    assert result["passages"][0]["number"] == 1
    assert result["passages"][0]["text"] == source["passage"]
