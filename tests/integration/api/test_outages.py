"""The API without Redis: 503, and nothing stays behind half done."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from websocket import ABNF

from deploy.local.stack import Stack
from ragcore import config
from ragcore.documents import CONVERSATIONS
from ragcore.errors import NotFound
from ragcore.events import CHAT_EVENTS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.cli import run_in


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack of its own, to break."""
    with Stack(tmp_path_factory.mktemp("outages"), services=("redis", "couchdb", "api")) as stack:
        yield stack


@pytest.fixture
def runtime(own: Stack) -> Runtime:
    return Runtime(config.load({**os.environ, "RAGCORE_CONFIG": ""}, Path(own.config_path)))


@pytest.fixture
def instance(runtime: Runtime) -> Instance:
    return runtime.instances.add(f"o{uuid.uuid4().hex[:8]}.localhost")


@pytest.fixture
def client(runtime: Runtime, instance: Instance) -> Client:
    return Client(runtime.config.public_url(instance.domain), instance)


def test_a_question_that_cannot_be_enqueued_does_not_stay(
    own: Stack, runtime: Runtime, instance: Instance, client: Client
) -> None:
    assert client.post("known", {"q": "One"}).status_code == 202
    own.processes["redis"].stop()
    try:
        for conversation in ("known", "new"):
            response = client.post(conversation, {"q": "Two"})
            assert response.status_code == 503
            assert response.json()["errors"][0]["status"] == "503"
            assert int(response.headers["Retry-After"]) > 0
        assert client.request("GET", "/status").status_code == 503
    finally:
        own.processes["redis"].start()
    messages = runtime.store.get(instance, CONVERSATIONS, "known")["messages"]
    assert [message["content"] for message in messages] == ["One"]
    with pytest.raises(NotFound):
        runtime.store.get(instance, CONVERSATIONS, "new")
    assert client.post("new", {"q": "Three"}).status_code == 202


def test_a_websocket_that_cannot_be_subscribed_is_closed(own: Stack, client: Client) -> None:
    """The published clients subscribe again when they connect again, and only then."""
    own.processes["redis"].stop()
    try:
        with client.socket({"type": CHAT_EVENTS}) as websocket:
            code, _ = websocket.socket.recv_data()
            assert code == ABNF.OPCODE_CLOSE
    finally:
        own.processes["redis"].start()
    with client.socket({"type": CHAT_EVENTS}) as websocket:
        websocket.sync()


def test_without_the_document_database_it_is_503(own: Stack, client: Client) -> None:
    assert client.post("c", {"q": "One"}).status_code == 202
    own.processes["couchdb"].stop()
    try:
        response = client.post("c", {"q": "Two"})
        assert response.status_code == 503
        assert "Traceback" not in response.text
    finally:
        own.processes["couchdb"].start()
    assert client.post("c", {"q": "Three"}).status_code == 202


def test_check_says_that_a_queue_has_no_worker(own: Stack) -> None:
    result = run_in(own.environment(), "check")
    assert result.returncode == 1
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert [line.partition(": ")[2] for line in failed if " queue " in line] == ["no worker takes its jobs"] * 3
    assert "openrag default" in failed[0]


def test_check_without_redis_is_one_line_each(own: Stack) -> None:
    environment = own.environment() | {"RAGCORE_REDIS_URL": "redis://127.0.0.1:1/0"}
    result = run_in(environment, "check")
    assert result.returncode == 1
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 10


def test_serve_on_a_port_that_is_taken_is_one_line(own: Stack) -> None:
    result = run_in(own.environment(), "serve")
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert "cannot listen on 127.0.0.1" in line
