"""GET /api/usage, the header, and how each surface tells that a budget is spent: over real processes."""

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from ragcore.runtime import Runtime
from tests.support import grounded
from tests.support.api import Client
from tests.support.budgets import empty
from tests.support.chat import objects
from tests.support.files import new_instance
from tests.support.grounded import Library, calls, kinds
from tests.support.grounded import used as tokens
from tests.support.sandbox import Sandbox

SMALL = {"ai.plan": "small"}  # 1000 tokens, 3 asks
TOLD = {"plan": "small", "upgradeUrl": "https://example.net/upgrade"}


@pytest.fixture
def client(runtime: Runtime) -> Client:
    return planned(runtime)


def planned(runtime: Runtime) -> Client:
    made = new_instance(runtime)
    runtime.instances.set_flags(made.domain, SMALL)
    return Client(runtime.config.public_url(made.domain), made)


def spend(client: Client, sandbox: Sandbox, n: int) -> None:
    sandbox.script({"content": "Red."}, tokens(n - 1, 1))
    _, question = client.ask("Why?")
    assert objects(client.events(question))[-1] == "done"


def test_what_is_told_of_the_day(client: Client, sandbox: Sandbox) -> None:
    spend(client, sandbox, 300)
    told = client.request("GET", "/api/usage").json()
    reset_at = datetime.fromisoformat(told.pop("resetAt"))
    assert told == {
        "plan": "small",
        "tokens": {"used": 300, "limit": 1000},
        "ask": {"used": 0, "limit": 3},
        "agent": {"used": 0, "limit": 3},
    }
    assert (reset_at.hour, reset_at.minute) == (0, 0)
    assert 0 < (reset_at - datetime.now(UTC)).total_seconds() <= 24 * 3600


def test_from_half_spent_on_the_header_tells_what_is_left(client: Client, sandbox: Sandbox) -> None:
    for spent, left in ((499, None), (1, "0.50"), (245, "0.25"), (254, "0.00"), (200, "0.00")):
        spend(client, sandbox, spent)
        response = client.request("GET", "/api/usage")
        assert response.headers.get("X-AI-Left") == left
    response = client.post("c1", {"q": "Why?"})
    assert (response.status_code, response.headers["X-AI-Left"]) == (202, "0.00")


def test_a_spent_budget_is_told_in_the_channel_of_a_chat(client: Client, sandbox: Sandbox) -> None:
    spend(client, sandbox, 1000)
    _, question = client.ask("Why?")
    (error,) = client.events(question)
    assert {"object": "error", "code": "budget", "message": "Daily AI budget reached", **TOLD}.items() <= error.items()
    assert error["resetAt"] == client.request("GET", "/api/usage").json()["resetAt"]


@pytest.fixture(scope="module")
def library(runtime: Runtime, until: Callable) -> Library:
    made = grounded.library(runtime, until)
    runtime.instances.set_flags(made.instance.domain, SMALL)
    until(lambda: made.client.request("GET", "/api/usage").json()["plan"])  # the API has seen it before
    return made


def test_an_ask_is_counted_and_told_as_an_event_or_as_an_error(
    library: Library, sandbox: Sandbox, runtime: Runtime
) -> None:
    for _ in range(3):
        sandbox.script({"content": "Hold the red button [1]."}, tokens(199, 1))
        assert kinds(library.ask("How do I reset the boiler?"))[-1] == "saved"
    told = library.client.request("GET", "/api/usage")
    assert (told.json()["ask"], told.json()["tokens"]["used"]) == ({"used": 3, "limit": 3}, 600)
    (error,) = library.ask("How do I reset the boiler?")
    reset_at = told.json()["resetAt"]
    more = {"resetAt": reset_at, **TOLD}
    assert error == {"type": "error", "code": "budget", "message": "Daily AI budget reached", **more}
    response = library.post("How do I reset the boiler?", {"Accept": "application/json"})
    (refused,) = response.json()["errors"]
    assert (response.status_code, refused["code"], refused["detail"]) == (429, "budget", "Daily AI budget reached")
    assert refused["meta"] == more
    left = (datetime.fromisoformat(reset_at) - datetime.now(UTC)).total_seconds()
    assert math.isclose(int(response.headers["Retry-After"]), left, abs_tol=30)
    with library.post("How do I reset the boiler?") as stream:
        assert stream.headers["X-AI-Left"] == "0.40"
        stream.content  # noqa: B018  (to its end)
    before = library.client.request("GET", "/api/usage").json()
    empty(runtime)
    assert library.client.request("GET", "/api/usage").json() == before


def test_a_turn_of_the_agent_is_counted_with_all_its_calls(
    library: Library, sandbox: Sandbox, runtime: Runtime
) -> None:
    agents = Library(planned(runtime), library.drive, library.files, "")
    sandbox.script(calls(("get_workspace_stats", {})), tokens(299, 1))
    sandbox.script({"content": "You have no documents."}, tokens(299, 1))
    assert kinds(agents.tell("What do I have?"))[-1] == "saved"
    told = agents.client.request("GET", "/api/usage").json()
    assert (told["agent"], told["tokens"]["used"]) == ({"used": 1, "limit": 3}, 600)
    result = json.loads(sandbox.completions()[1]["messages"][-1]["content"])
    assert result["today"]["tokens"] == {"used": 300, "limit": 1000}


def test_a_budget_that_is_spent_between_two_calls_ends_the_turn(
    library: Library, sandbox: Sandbox, runtime: Runtime
) -> None:
    agents = Library(planned(runtime), library.drive, library.files, "")
    sandbox.script(calls(("get_workspace_stats", {})), tokens(999, 1))
    events = agents.tell("What do I have?")
    assert (kinds(events), events[-1]["code"]) == (["tool", "error"], "budget")
    assert agents.client.request("GET", "/api/usage").json()["agent"]["used"] == 1
    with agents.post_to_agent("Once more?") as stream:
        assert stream.headers["X-AI-Left"] == "0.00"
        stream.content  # noqa: B018  (to its end)


@pytest.mark.parametrize("stream", [True, False])
def test_completions_that_are_passed_on_are_counted(client: Client, sandbox: Sandbox, stream: bool) -> None:
    body = {"messages": [{"role": "user", "content": "Why?"}], "stream": stream}
    sandbox.script({"content": "Red."}, tokens(999, 1))
    with client.request("POST", "/ai/v1/chat/completions", json=body) as response:
        assert response.status_code == 200
        assert "Red." in response.text
    assert client.request("GET", "/api/usage").json()["tokens"]["used"] == 1000
    refused = client.request("POST", "/ai/v1/chat/completions", json=body)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (429, "budget")
    assert int(refused.headers["Retry-After"]) > 0


def test_a_completion_that_openrag_refuses_uses_nothing(client: Client) -> None:
    response = client.request("POST", "/ai/v1/chat/completions", json={"messages": []})
    assert response.status_code == 400
    assert client.request("GET", "/api/usage").json()["tokens"]["used"] == 0
    spent = client.request("POST", "/ai/v1/chat/completions", json={"messages": [{"role": "user", "content": "Why?"}]})
    assert spent.status_code == 200
