import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
import requests
from sandbox_client import new_client


def fault(client: Any, **body: Any) -> None:
    client.server.control("POST", "faults", body)


def test_a_fault_answers_the_next_calls_of_a_route(client: Any) -> None:
    fault(client, method="GET", route="/workspaces$", status=503, body="<p>no</p>", times=2, headers={"X-A": "b"})
    spoiled = client.call("GET", "/partition/{p}/workspaces")
    assert (spoiled.status_code, spoiled.text, spoiled.headers["X-A"]) == (503, "<p>no</p>", "b")
    assert client.call("POST", "/partition/{p}/workspaces", json={"workspace_id": "w"}).status_code == 201
    assert client.call("GET", "/partition/{p}/workspaces").status_code == 503
    assert client.call("GET", "/partition/{p}/workspaces").status_code == 200


def test_a_fault_for_ever_ends_when_faults_are_cleared(client: Any) -> None:
    fault(client, route="/partition/", status=429, body={"detail": "slow"}, times=None)
    assert [client.call("GET", "/partition/{p}/").json() for _ in range(3)] == [{"detail": "slow"}] * 3
    client.server.control("DELETE", "faults")
    assert client.call("GET", "/partition/{p}/").status_code == 200


def test_a_fault_can_delay_and_pass_on(client: Any) -> None:
    fault(client, route="/partition/", delay=0.3)
    begin = time.monotonic()
    assert client.call("GET", "/partition/{p}/").status_code == 200
    assert time.monotonic() - begin >= 0.3


def test_a_fault_can_cut_before_or_after_the_work(client: Any) -> None:
    fault(client, method="POST", route="/workspaces", cut=True)
    fault(client, method="POST", route="/workspaces", cut=True, after=True)
    for wanted in ([], ["w"]):
        with pytest.raises(requests.ConnectionError):
            client.call("POST", "/partition/{p}/workspaces", json={"workspace_id": "w"})
        found = client.call("GET", "/partition/{p}/workspaces").json()["workspaces"]
        assert [workspace["workspace_id"] for workspace in found] == wanted
    assert [call["status"] for call in client.calls("/workspaces", "POST")] == [None, None]


def test_a_bad_fault_is_refused(client: Any) -> None:
    assert client.server.call("POST", "/_sandbox/faults", json={"route": "("}).status_code == 422
    assert client.server.call("POST", "/_sandbox/faults", json={}).status_code == 422


def test_calls_are_kept(client: Any) -> None:
    client.server.control("DELETE", "calls")
    client.call("POST", "/partition/{p}/workspaces?a=1", json={"workspace_id": "w"})
    client.upload("f", "text", metadata={"a": 1}, workspace_ids='["w"]')
    fault(client, route="/indexer/", status=500)
    client.upload("g", "text")
    made, uploaded, spoiled = client.calls()
    assert (made["method"], made["path"], made["query"], made["status"]) == (
        "POST",
        f"/partition/{client.partition}/workspaces",
        {"a": "1"},
        201,
    )
    assert made["json"] == {"workspace_id": "w"}
    assert abs(made["at"] - time.time()) < 60
    assert uploaded["fields"] == {"metadata": '{"a": 1}', "workspace_ids": '["w"]'}
    assert uploaded["filename"] == "note.txt"
    assert (spoiled["status"], spoiled["filename"]) == (500, "note.txt")
    assert [call["path"][-1] for call in client.calls("/file/", "POST")] == ["f", "g"]


def test_a_long_body_is_cut(client: Any) -> None:
    client.chat("x" * 70_000)
    (call,) = client.calls("completions")
    assert len(call["json"]) == 65_536


def test_settings_are_checked(client: Any) -> None:
    assert client.server.control("POST", "settings", {"word_delay": 0.5})["word_delay"] == 0.5
    assert client.server.control("GET", "settings")["word_delay"] == 0.5
    for bad in ({"word_delay": -1}, {"swap": "a"}, {"nothing": 1}, {"legacy": 1}, {"context_size": 1.5}):
        assert client.server.call("POST", "/_sandbox/settings", json=bad).status_code == 422


def test_every_call_of_the_contract_can_be_delayed(client: Any) -> None:
    client.server.control("POST", "settings", {"call_delay": 0.2})
    begin = time.monotonic()
    client.call("GET", "/partition/{p}/")
    assert time.monotonic() - begin >= 0.2


def test_a_term_signal_ends_it_in_the_middle_of_a_stream(start: Callable[..., Any]) -> None:
    client = new_client(start())
    client.script({"content": "a"}, {"sleep": 60})
    response = client.chat(stream=True)
    next(response.iter_lines())
    begin = time.monotonic()
    client.server.process.send_signal(signal.SIGTERM)
    client.server.process.wait(10)
    assert time.monotonic() - begin < 4
