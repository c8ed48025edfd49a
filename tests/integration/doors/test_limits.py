"""What a token may ask for, and what is refused beyond it."""

import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest
import websocket
from flask.testing import FlaskClient

from api.app import create_app
from ragcore import loopback
from ragcore.config import Limits
from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.conftest import SOCKETS_PER_TOKEN
from tests.support.api import Client
from tests.support.queue import Recorded

Asked = Callable[..., tuple[int, str | None]]


@pytest.fixture
def limited(runtime: Runtime) -> Callable[[int], FlaskClient]:
    """The API, with so many messages in a minute."""

    def make(per_minute: int) -> FlaskClient:
        limits = Limits(chat_per_minute=per_minute)
        return create_app(Runtime(runtime.config.model_copy(update={"limits": limits})), Recorded()).test_client()

    return make


def ask(app: FlaskClient, instance: Instance, token: str) -> tuple[int, str | None]:
    headers = {"Host": instance.domain, "Authorization": f"Bearer {token}"}
    path = f"/ai/chat/conversations/c{time.time_ns()}"
    response = app.post(path, headers=headers, json={"q": "Hello"})
    return response.status_code, response.headers.get("Retry-After")


def test_a_token_has_so_many_messages_in_a_minute(
    limited: Callable[[int], FlaskClient], client: Client, runtime: Runtime, instance: Instance
) -> None:
    app = limited(3)
    answers = [ask(app, instance, client.token) for _ in range(7)]  # a new minute may begin in between
    assert [status for status, _ in answers].count(202) in range(3, 7)
    for status, wait in answers:
        assert status == 202 or (status == 429 and wait and 1 <= int(wait) <= 60)
    saved = list(runtime.store.all(instance, CONVERSATIONS))
    assert len(saved) == [status for status, _ in answers].count(202)
    another = Client(client.base_url, instance, f"{CONVERSATIONS} io.cozy.files:GET ")
    assert ask(app, instance, another.token)[0] == 202


def test_without_a_limit_nothing_is_counted(
    limited: Callable[[int], FlaskClient], client: Client, instance: Instance
) -> None:
    app = limited(0)
    assert {ask(app, instance, client.token)[0] for _ in range(5)} == {202}


def test_a_token_has_so_many_sockets(client: Client, instance: Instance) -> None:
    with ExitStack() as stack:
        sockets = [stack.enter_context(client.socket()) for _ in range(SOCKETS_PER_TOKEN)]
        for socket in sockets:
            socket.sync()
        with client.socket() as refused:
            payload = refused.receive()["payload"]
            assert (payload["status"], payload["code"]) == ("429 Too Many Requests", "too many requests")
            assert payload["source"] == {"method": "AUTH"}
            with pytest.raises(websocket.WebSocketConnectionClosedException):
                refused.receive()
        another = Client(client.base_url, instance, CONVERSATIONS)
        with another.socket() as socket:
            socket.sync()


def test_a_socket_that_is_closed_makes_room(client: Client, until: Callable[..., None]) -> None:
    with ExitStack() as stack:
        for _ in range(SOCKETS_PER_TOKEN):
            stack.enter_context(client.socket()).sync()

    def opens() -> bool:
        with client.socket() as socket:
            socket.send("PING", "")
            return socket.receive()["payload"]["code"] == "method not allowed"

    until(opens)


def test_a_socket_has_so_many_subscriptions(client: Client, runtime: Runtime) -> None:
    limit = runtime.config.limits.subscriptions_per_socket
    with client.socket() as socket:
        for n in range(limit + 50):
            socket.send("SUBSCRIBE", {"type": CONVERSATIONS, "id": f"c{n}"})
        refused = [socket.receive()["payload"] for _ in range(50)]
        assert {payload["status"] for payload in refused} == {"429 Too Many Requests"}
        socket.send("UNSUBSCRIBE", {"type": CONVERSATIONS, "id": "c0"})
        socket.send("SUBSCRIBE", {"type": CHAT_EVENTS, "id": "q1"})
        socket.sync()


def test_who_says_nothing_is_sent_away(client: Client) -> None:
    """After ten seconds without AUTH."""
    url, host = loopback.resolve(f"{client.base_url}/realtime/")
    socket = websocket.create_connection(url.replace("http", "ws", 1), host=host, timeout=20)
    began = time.monotonic()
    assert '"status": "401 Unauthorized"' in socket.recv()
    assert time.monotonic() - began > 9
    socket.close()
