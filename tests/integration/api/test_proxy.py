"""The routes that are passed on to openRAG."""

import json
import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest
import requests

from ragcore import loopback
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.files import new_instance
from tests.support.sandbox import Sandbox

COMPLETIONS = "/ai/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "Hello"}]


@pytest.fixture(scope="module")
def instance(runtime: Runtime) -> Instance:
    return new_instance(runtime)


@pytest.fixture
def llm(client: Client) -> Iterator[openai.OpenAI]:
    """The published client, on the loopback: its resolver does not know the names of instances."""
    url, host = loopback.resolve(client.base_url)
    with openai.OpenAI(base_url=f"{url}/ai/v1", api_key=client.token, default_headers={"Host": host}) as made:
        yield made


def complete(client: Client, **body: Any) -> requests.Response:
    return client.request("POST", COMPLETIONS, json={"messages": MESSAGES, **body})


def test_the_openai_package_works_against_it(llm: openai.OpenAI, sandbox: Sandbox) -> None:
    sandbox.script({"content": "Good "}, {"content": "day"}, times=2)
    whole = llm.chat.completions.create(model="", messages=MESSAGES)
    assert whole.choices[0].message.content == "Good day"
    stream = llm.chat.completions.create(model="", messages=MESSAGES, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == "Good day"


def test_chunks_are_not_held_back(llm: openai.OpenAI, sandbox: Sandbox) -> None:
    sandbox.script({"content": "First"}, {"sleep": 3}, {"content": "Last"})
    began = time.monotonic()
    with llm.chat.completions.create(model="", messages=MESSAGES, stream=True) as stream:
        first = next(chunk for chunk in stream if chunk.choices and chunk.choices[0].delta.content)
    assert first.choices[0].delta.content == "First"
    assert time.monotonic() - began < 3


def test_the_connection_is_closed_when_the_client_goes(llm: openai.OpenAI, sandbox: Sandbox, until) -> None:
    sandbox.script({"content": "First"}, *[{"sleep": 0.2}, {"content": "more"}] * 50)
    with llm.chat.completions.create(model="", messages=MESSAGES, stream=True) as stream:
        next(iter(stream))
    until(lambda: sandbox.calls("/v1/chat/completions")[-1]["closed_early"])


@pytest.mark.parametrize("name", ["openrag", "ragondin"])
def test_the_model_of_the_instance(
    client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance, name
) -> None:
    runtime.openrag(instance).create_partition()
    sandbox.script({"content": "From the documents"})
    model = f"{name}-{instance.domain}"
    assert complete(client, model=model).json()["choices"][0]["message"]["content"] == "From the documents"
    assert sandbox.completions()[-1]["model"] == model


@pytest.mark.parametrize("model", [None, ""])
def test_without_a_model_the_llm_answers_alone(client: Client, sandbox: Sandbox, model: str | None) -> None:
    sandbox.script({"content": "Alone"})
    assert complete(client, model=model, temperature=0.3).status_code == 200
    assert sandbox.completions()[-1] == {"messages": MESSAGES, "model": model, "temperature": 0.3}


@pytest.mark.parametrize("model", ["openrag-other.localhost", "gpt-4", " openrag-all"])
def test_another_model_is_refused(client: Client, sandbox: Sandbox, model: str) -> None:
    response = complete(client, model=model)
    assert response.status_code == 403
    assert sandbox.calls("/v1/") == []


def test_a_doubled_key_cannot_say_two_things(client: Client, sandbox: Sandbox, instance: Instance) -> None:
    sandbox.script({"content": "x"})
    body = json.dumps({"messages": MESSAGES, "model": "openrag-other"})[:-1] + ', "model": ""}'
    assert client.request("POST", COMPLETIONS, data=body).status_code == 200
    assert sandbox.completions()[-1]["model"] == ""


@pytest.mark.parametrize("body", ["", "[]", "3", "{", json.dumps({"model": 3}), json.dumps({"model": ["a"]})])
def test_a_bad_body(client: Client, sandbox: Sandbox, body: str) -> None:
    response = client.request("POST", COMPLETIONS, data=body)
    assert response.status_code == 400
    assert response.json()["errors"][0]["detail"]
    assert sandbox.calls("/v1/") == []


def test_status_and_body_are_those_of_openrag(client: Client, sandbox: Sandbox) -> None:
    sandbox.fault(route="/v1/", status=429, body="slow down", headers={"Retry-After": "7", "Keep-Alive": "x"}, times=1)
    response = complete(client)
    assert (response.status_code, response.text, response.headers["Retry-After"]) == (429, "slow down", "7")
    assert "Keep-Alive" not in response.headers


def test_a_server_that_does_not_answer_is_a_502(client: Client, sandbox: Sandbox) -> None:
    sandbox.fault(route="/v1/", cut=True, times=1)
    response = complete(client)
    assert response.status_code == 502
    assert response.json()["errors"][0]["status"] == "502"


def test_a_tool_of_openrag(client: Client) -> None:
    form = {"tool": (None, '{"name": "extractText"}'), "metadata": (None, "{}"), "file": ("a.txt", b"Some text")}
    response = client.request("POST", "/ai/v1/tools/execute", files=form)
    assert (response.status_code, response.json()) == (200, {"message": "Some text"})
    form["tool"] = (None, '{"name": "unknown"}')
    assert client.request("POST", "/ai/v1/tools/execute", files=form).status_code == 400


def test_an_upload_of_unknown_length_is_passed_on(client: Client) -> None:
    form = {"tool": (None, '{"name": "extractText"}'), "metadata": (None, "{}"), "file": ("a.txt", b"Some text")}
    made = requests.Request("POST", "http://x", files=form).prepare()
    assert isinstance(made.body, bytes)
    pieces = (made.body[at : at + 10] for at in range(0, len(made.body), 10))
    headers = {"Content-Type": made.headers["Content-Type"]}
    response = client.request("POST", "/ai/v1/tools/execute", data=pieces, headers=headers)
    assert (response.status_code, response.json()) == (200, {"message": "Some text"})


def test_the_guard_of_a_body_is_none_of_an_upload(client: Client, runtime: Runtime) -> None:
    form = {"tool": (None, '{"name": "unknown"}'), "file": ("a.txt", b"x" * runtime.config.limits.body)}
    response = client.request("POST", "/ai/v1/tools/execute", files=form)
    assert response.status_code == 400  # openRAG's, of the tool


@pytest.mark.parametrize("route", [COMPLETIONS, "/ai/v1/tools/execute"])
def test_the_permissions_are_those_of_a_chat(client: Client, sandbox: Sandbox, instance: Instance, route: str) -> None:
    narrow = create_token(instance, "cli", "test", "io.cozy.ai.chat.conversations")
    for token, status in (("", 401), (narrow, 403)):
        headers = {"Authorization": f"Bearer {token}"}
        assert client.request("POST", route, json={"messages": MESSAGES}, headers=headers).status_code == status
    assert sandbox.calls("/v1/") == []
