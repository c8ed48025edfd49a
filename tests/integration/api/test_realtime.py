"""The websocket, as clients speak with it."""

import pytest
import websocket

from ragcore.events import CHAT_EVENTS, Event
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.sandbox import Sandbox

TYPE = "io.cozy.tests"


@pytest.fixture
def broad(instance: Instance) -> str:
    return create_token(instance, "access", "test", f"{TYPE} {CHAT_EVENTS}")


def test_writes_of_documents_are_events(client: Client, runtime: Runtime, instance: Instance, broad: str) -> None:
    with client.socket({"type": TYPE}, token=broad) as socket:
        socket.sync()
        made = runtime.store.save(instance, TYPE, {"_id": "d1", "n": 1})
        runtime.store.delete(instance, TYPE, made)
        created, deleted = socket.receive(), socket.receive()
    assert created == {"event": "CREATED", "payload": {"id": "d1", "type": TYPE, "doc": made}}
    assert deleted["event"] == "DELETED"
    assert deleted["payload"]["doc"]["_id"] == "d1"


def test_a_subscription_by_id_and_its_end(client: Client, runtime: Runtime, instance: Instance, broad: str) -> None:
    with client.socket({"type": TYPE, "id": "d2"}, token=broad) as socket:
        socket.sync()
        runtime.store.save(instance, TYPE, {"_id": "d1"})
        two = runtime.store.save(instance, TYPE, {"_id": "d2"})
        assert socket.receive()["payload"]["id"] == "d2"
        socket.send("unsubscribe", {"type": TYPE, "id": "d2"})
        socket.send("Subscribe", {"type": TYPE, "id": "d3"})
        socket.sync()
        runtime.store.save(instance, TYPE, two)
        runtime.store.save(instance, TYPE, {"_id": "d3"})
        assert socket.receive()["payload"]["id"] == "d3"


def test_the_sub_protocol_is_accepted(client: Client) -> None:
    with client.socket() as socket:
        assert socket.socket.getsubprotocol() == "io.cozy.websocket"


def test_a_question_is_replayed_from_its_first_event(
    client: Client, sandbox: Sandbox, runtime: Runtime, instance: Instance
) -> None:
    """Who comes in the middle of an answer sees all of it; who comes after its end too."""
    script = [{"content": f"{n} "} for n in range(20)]
    sandbox.script(*script, {"sleep": 1}, *script)
    _, question_id = client.ask("Count", documents=False)
    with client.socket({"type": CHAT_EVENTS, "id": question_id}) as early:
        for _ in range(10):
            early.receive()
        late = client.events(question_id)
    again = client.events(question_id)
    assert [event.get("position") for event in late] == [*range(40), None]
    assert again == late


def test_live_events_during_a_replay_are_neither_lost_nor_doubled(
    client: Client, runtime: Runtime, instance: Instance
) -> None:
    def publish(positions: range) -> None:
        for position in positions:
            doc = {"object": "delta", "content": "x" * 200, "position": position}
            runtime.publisher.publish(instance.domain, Event("CREATED", CHAT_EVENTS, "q1", doc))

    publish(range(1500))
    runtime.publisher.flush()
    with client.socket({"type": CHAT_EVENTS, "id": "q1"}) as socket:
        publish(range(1500, 3000))
        got = [socket.receive()["payload"]["doc"]["position"] for _ in range(3000)]
    assert got == list(range(3000))


def test_a_wrong_token_is_told_and_the_socket_closed(client: Client) -> None:
    with client.socket(token="wrong") as socket:
        error = socket.receive()
        assert error["event"] == "error"
        assert error["payload"]["status"] == "401 Unauthorized"
        assert error["payload"]["code"] == "unauthorized"
        assert error["payload"]["title"] == "The authentication has failed"
        assert "wrong" not in str(error)
        with pytest.raises(websocket.WebSocketConnectionClosedException):
            socket.receive()


@pytest.mark.parametrize(
    ("method", "payload", "status", "title"),
    [
        (
            "SUBSCRIBE",
            {"type": "io.cozy.bank"},
            "403 Forbidden",
            "The application can't subscribe to io.cozy.bank",
        ),
        ("SUBSCRIBE", {}, "404 Page Not Found", "The type parameter is mandatory for SUBSCRIBE"),
        ("SUBSCRIBE", None, "404 Page Not Found", "The type parameter is mandatory for SUBSCRIBE"),
        ("PUBLISH", {"type": TYPE}, "405 Method Not Allowed", "The PUBLISH method is not supported"),
    ],
)
def test_a_wrong_command_is_told_with_its_source(client: Client, method, payload, status, title) -> None:
    with client.socket() as socket:
        socket.send(method, payload)
        error = socket.receive()["payload"]
    assert (error["status"], error["title"]) == (status, title)
    assert error["source"] == {"method": method, "payload": payload}


def test_what_is_no_command_is_told(client: Client) -> None:
    with client.socket() as socket:
        for text in ("", "hello", "[]", "{}", '{"method": 1}', "[" * 900):
            socket.socket.send(text)
            assert socket.receive()["payload"]["status"] == "400 Bad Request"


def test_a_message_that_is_too_large_ends_the_socket(client: Client) -> None:
    with client.socket() as socket:
        socket.send("SUBSCRIBE", {"type": "x" * 1024})
        with pytest.raises((websocket.WebSocketException, OSError)):
            socket.receive()


def test_an_unknown_host_has_no_websocket(client: Client) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        websocket.create_connection(
            client.base_url.replace("http", "ws").replace(client.instance.domain, "127.0.0.1") + "/realtime/",
            host="nobody.localhost",
        )
    assert refused.value.status_code == 404


def test_a_socket_with_both_subscriptions_gets_no_event_twice(
    client: Client, runtime: Runtime, instance: Instance
) -> None:
    """The live channel may be behind the history that was replayed: what comes late is known already."""
    events = [Event("CREATED", CHAT_EVENTS, "q1", {"object": "delta", "position": n}) for n in range(3000)]
    with client.socket({"type": CHAT_EVENTS}) as socket:
        socket.sync()
        for event in events:
            runtime.publisher.publish(instance.domain, event)
        socket.send("SUBSCRIBE", {"type": CHAT_EVENTS, "id": "q1"})
        got = [socket.receive()["payload"]["doc"]["position"]]
        while got[-1] != 2999:
            got.append(socket.receive()["payload"]["doc"]["position"])
        start = len(got) - 1 - got[::-1].index(0)
        assert got[start:] == list(range(3000))


def test_a_notification_without_a_document(client: Client, instance: Instance, broad: str) -> None:
    bearer = {"Authorization": f"Bearer {broad}"}
    with client.socket({"type": TYPE}, token=broad) as socket:
        socket.sync()
        sent = client.request("POST", f"/realtime/{TYPE}/n1", json={"data": {"hello": "world"}}, headers=bearer)
        assert (sent.status_code, sent.content) == (204, b"")
        assert socket.receive() == {
            "event": "NOTIFIED",
            "payload": {"id": "n1", "type": TYPE, "doc": {"_id": "n1", "hello": "world"}},
        }


@pytest.mark.parametrize("body", [{}, [], {"data": "x"}, {"data": None}, "x"])
def test_a_notification_needs_data(client: Client, broad: str, body: object) -> None:
    bearer = {"Authorization": f"Bearer {broad}"}
    response = client.request("POST", f"/realtime/{TYPE}/n1", json=body, headers=bearer)
    assert response.status_code == 400
    assert response.json()["errors"][0]["source"] == {"pointer": "/data"}


def test_who_may_notify(client: Client, instance: Instance, broad: str) -> None:
    """The right to POST on the document; the events of answers are nobody's to make."""
    reader = create_token(instance, "access", "test", f"{TYPE}:GET")
    tries = [("", TYPE, 401), (reader, TYPE, 403), (broad, "io.cozy.others", 403), (broad, CHAT_EVENTS, 403)]
    for token, doctype, status in tries:
        headers = {"Authorization": f"Bearer {token}"}
        sent = client.request("POST", f"/realtime/{doctype}/n1", json={"data": {}}, headers=headers)
        assert sent.status_code == status
