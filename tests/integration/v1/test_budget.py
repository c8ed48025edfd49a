"""A spent budget, as the clients of OpenAI's API are told of it."""

from typing import Any

import openai
import pytest

from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.budgets import empty
from tests.support.files import new_instance
from tests.support.openai import client_of
from tests.support.sandbox import Sandbox

QUESTION = {"role": "user", "content": "How do I reset the boiler?"}


@pytest.fixture
def client(runtime: Runtime) -> Client:
    made = new_instance(runtime)
    runtime.instances.set_flags(made.domain, {"ai.plan": "small"})  # 1000 tokens, 3 asks
    return Client(runtime.config.public_url(made.domain), made)


def ask(ai: openai.OpenAI, **more: Any) -> Any:
    return ai.chat.completions.create(model="ragcore", messages=[QUESTION], **more)  # type: ignore[list-item]


@pytest.mark.parametrize("stream", [False, True])
def test_a_spent_budget_is_a_429_in_openais_shape(client: Client, sandbox: Sandbox, stream: bool) -> None:
    """A question counts as an ask: what the plan bounds is the answers from documents, whoever asks for them."""
    ai = client_of(client)
    for _ in range(3):
        ask(ai)
    assert client.request("GET", "/api/usage").json()["ask"] == {"used": 3, "limit": 3}
    with pytest.raises(openai.RateLimitError) as refused:
        ask(ai, stream=stream)
    error = refused.value
    assert (error.code, error.type, error.body["message"]) == (
        "insufficient_quota", "insufficient_quota", "Daily AI budget reached"
    )  # fmt: skip
    assert int(error.response.headers["Retry-After"]) > 0
    assert error.response.headers["x-should-retry"] == "false"
    assert sandbox.completions() == []


def test_what_a_client_says_of_before_is_not_counted_again(client: Client, runtime: Runtime) -> None:
    """It gives the whole conversation each time: its answers were counted when they were made."""
    before = [{"role": role, "content": "Red." * 500} for role in ("user", "assistant")]
    client_of(client).chat.completions.create(model="ragcore", messages=[*before, QUESTION])  # type: ignore[list-item]
    empty(runtime)
    told = client.request("GET", "/api/usage").json()
    assert told["tokens"]["used"] < 100
    assert told["ask"]["used"] == 1
