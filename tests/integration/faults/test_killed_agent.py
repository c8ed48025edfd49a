"""The worker of turns of the agent killed between two of their tools: one is done, the other under way."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS
from ragcore.memories import Memories
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start, owed
from tests.integration.faults.test_killed_answers import HEARD, deliver_again, has_no_messages, refused
from tests.support.api import Client, EventSource
from tests.support.chaos import Tell, times
from tests.support.grounded import calls, text_of, tools_of
from tests.support.sandbox import Sandbox
from tests.support.workers import query_worker, running

TURNS = times(4, 40)

Json = dict[str, Any]


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api") as stack:
        yield stack


def script(sandbox: Sandbox, n: int) -> None:
    """A memory is saved first, then something is searched."""
    door = f"door {n} "
    memory = {"text": f"The key of {door} is green.", "confidence": 0.9}
    for called in (("save_memory", memory), ("search_knowledge_base", {"query": door})):
        sandbox.script(calls(called), match=door)


def events_of(response: Any) -> list[Json]:
    with EventSource(response) as source:
        return [event for _, event in source]


def conversation_of(response: Any) -> str:
    where: str = response.headers["Content-Location"]
    return where.rpartition("/")[2]


def test_a_worker_is_killed_between_two_tools(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """Each turn is told one error; its message comes again, and neither its tools run again nor its memory is written
    again. The conversation goes on."""
    runtime.openrag(client.instance).create_partition()
    for n in range(TURNS):
        script(sandbox, n)
    sandbox.fault(route="/search/", delay=20, times=TURNS)
    memories = Memories(runtime.store, runtime.config, client.instance)
    killed, following = query_worker(own, "killed", TURNS), query_worker(own, "following", TURNS)
    with running(killed):
        asked = [
            client.request(
                "POST", "/api/agent/chat", json={"message": f"Remember that the key of door {n} is green."}, stream=True
            )
            for n in range(TURNS)
        ]
        until(lambda: len(sandbox.calls("^/search/")) == TURNS)
        written = len(memories.all())
        began = time.monotonic()
        killed.kill()
    told = [events_of(response) for response in asked]
    seconds = round(time.monotonic() - began, 1)
    again = deliver_again(runtime.redis)
    with running(following):
        until(lambda: refused(following) == TURNS and has_no_messages(runtime.redis))
        until(lambda: not owed(runtime))
        sandbox.script(calls(("get_workspace_stats", {})))
        sandbox.script({"content": "There is nothing yet."})
        body = {"message": "What do I have?", "conversationId": conversation_of(asked[0])}
        following_up = events_of(client.request("POST", "/api/agent/chat", json=body, stream=True))
    steps = [Counter((tool["name"], tool["status"]) for tool in tools_of(events)) for events in told]
    figures = {
        "told error": sum([event["type"] for event in events].count("error") == 1 for events in told),
        "doubled": sum(count - 1 for counted in steps for count in counted.values()),
        "memories": len(memories.all()),
        "again": again,
        "s": seconds,
    }
    tell(
        f"{TURNS} turns of the agent, between two tools",
        "SIGKILL to their worker, their messages come again",
        **figures,
    )
    assert (figures["told error"], figures["doubled"], again) == (TURNS, 0, TURNS)
    assert written == figures["memories"] == TURNS
    assert seconds < HEARD
    assert {frozenset(counted) for counted in steps} == {
        frozenset([("save_memory", "call"), ("save_memory", "done"), ("search_knowledge_base", "call")])
    }
    assert len(sandbox.completions()) == 2 * TURNS + 2
    assert text_of(following_up) == "There is nothing yet."
    for response in asked[1:]:
        doc = runtime.store.get(client.instance, CONVERSATIONS, conversation_of(response))
        assert [message["role"] for message in doc["messages"]] == ["user"]
