import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wsproto.connection import Connection as FrameReader
from wsproto.connection import ConnectionType
from wsproto.events import TextMessage

from api import outbox, sockets
from api.limits import SocketLimit
from api.sockets import (
    CommandError,
    Socket,
    Subscription,
    _command,
    _error,
    _frame,
    _may_subscribe,
    _subject,
    _WholeWrites,
)
from ragcore.config import Config
from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS, Event, Published
from ragcore.instances import Instance
from ragcore.permissions import Permissions
from ragcore.runtime import Runtime


def command(method: Any, **payload: Any) -> str:
    return json.dumps({"method": method, "payload": payload})


@pytest.mark.parametrize("method", ["SUBSCRIBE", "subscribe", "Subscribe"])
def test_methods_are_read_whatever_their_case(method: str) -> None:
    assert _command(command(method, type="t")) == ("SUBSCRIBE", {"type": "t"})
    assert _command(command(method, type="t").encode()) == ("SUBSCRIBE", {"type": "t"})


@pytest.mark.parametrize(
    "message", ["", "x", "[]", "3", "null", "{}", '{"method": 3}', '{"method": null}', b"\xff", "[" * 1000]
)
def test_what_is_no_command(message: str | bytes) -> None:
    with pytest.raises(CommandError) as caught:
        _command(message)
    assert caught.value.status == "400 Bad Request"


@given(st.text(max_size=20) | st.binary(max_size=20))
def test_any_message_is_a_command_or_an_error(message: str | bytes) -> None:
    with pytest.raises(CommandError):
        _command(message)


@pytest.mark.parametrize(
    ("payload", "subject"),
    [
        ({"type": "t"}, ("t", "")),
        ({"type": "t", "id": "d"}, ("t", "d")),
        ({"type": "t", "id": None}, ("t", "")),
        ({"type": "t", "id": 3}, ("t", "")),
    ],
)
def test_what_is_subscribed_to(payload: Any, subject: tuple[str, str]) -> None:
    assert _subject("SUBSCRIBE", payload) == subject


@pytest.mark.parametrize("payload", [None, "t", [], {}, {"type": ""}, {"type": 3}, {"id": "d"}])
def test_a_subscription_without_a_type(payload: Any) -> None:
    with pytest.raises(CommandError) as caught:
        _subject("SUBSCRIBE", payload)
    error = json.loads(_error(caught.value, {"method": "SUBSCRIBE"}))
    assert error == {
        "event": "error",
        "payload": {
            "status": "404 Page Not Found",
            "code": "page not found",
            "title": "The type parameter is mandatory for SUBSCRIBE",
            "source": {"method": "SUBSCRIBE"},
        },
    }


@pytest.mark.parametrize(
    ("scope", "doctype", "doc_id", "allowed"),
    [
        (CHAT_EVENTS, CHAT_EVENTS, "", True),
        (f"{CHAT_EVENTS}:GET", CHAT_EVENTS, "q", True),
        (f"{CHAT_EVENTS}:POST", CHAT_EVENTS, "", False),
        (f"{CHAT_EVENTS}:GET:q", CHAT_EVENTS, "q", True),
        (f"{CHAT_EVENTS}:GET:q", CHAT_EVENTS, "other", False),
        (f"{CHAT_EVENTS}:GET:q", CHAT_EVENTS, "", False),
        (CONVERSATIONS, CHAT_EVENTS, "", True),
        (f"{CONVERSATIONS}:GET", CHAT_EVENTS, "q", True),
        (f"{CONVERSATIONS}:POST", CHAT_EVENTS, "q", False),
        (f"{CONVERSATIONS}:GET:c", CHAT_EVENTS, "", False),
        (f"{CONVERSATIONS}:GET:q", CHAT_EVENTS, "q", False),
        (CONVERSATIONS, CONVERSATIONS, "", True),
        (CONVERSATIONS, "io.cozy.files", "", False),
        ("io.cozy.files", CHAT_EVENTS, "", False),
        ("", CHAT_EVENTS, "", False),
    ],
)
def test_who_may_subscribe(scope: str, doctype: str, doc_id: str, allowed: bool) -> None:
    assert _may_subscribe(Permissions.of_scope(scope), doctype, doc_id) is allowed


class Connection:
    """A websocket of which only the socket below is used."""

    connected = True

    def __init__(self, sock: socket.socket) -> None:
        self.sock = _WholeWrites(sock)


# which events go to a client, and when


@pytest.fixture
def client() -> Socket:
    return Socket(None, Runtime(Config()), Instance("d", "d"), SocketLimit(0))


def event(place: str, doctype: str = CHAT_EVENTS, doc_id: str = "q") -> Published:
    made = Event("CREATED", doctype, doc_id, {"place": place})
    return Published("d", made.question, place, made.encode())


def sent(client: Socket) -> list[str]:
    """The places of what waits to be sent."""
    waiting = []
    while client._outbox._waiting:
        waiting.append(json.loads(client._outbox.get() or "")["payload"]["doc"]["place"])
    return waiting


@pytest.mark.parametrize(
    ("subscriptions", "places"),
    [
        ([], []),
        ([(CHAT_EVENTS, "q")], ["1-0"]),
        ([(CHAT_EVENTS, "")], ["1-0", "2-0"]),
        ([(CHAT_EVENTS, ""), (CHAT_EVENTS, "q")], ["1-0", "2-0"]),
        ([("io.cozy.files", "")], ["3-0"]),
        ([("io.cozy.files", "q")], []),
        ([("io.cozy.files", ""), (CHAT_EVENTS, "other")], ["2-0", "3-0"]),
    ],
)
def test_an_event_goes_to_its_subscribers_once(
    client: Socket, subscriptions: list[tuple[str, str]], places: list[str]
) -> None:
    for key in subscriptions:
        client._subscriptions[key] = Subscription()
    for published in (event("1-0"), event("2-0", doc_id="other"), event("3-0", "io.cozy.files", "f")):
        client.on_event(published)
    assert sent(client) == places


def test_events_wait_while_the_history_is_replayed(client: Socket) -> None:
    client._subscriptions[CHAT_EVENTS, "q"] = subscription = Subscription([])
    client.on_event(event("1-0"))
    client.on_event(event("2-0"))
    assert sent(client) == []
    assert [held.place for held in client._held(subscription)] == ["1-0", "2-0"]
    client.on_event(event("3-0"))
    assert [held.place for held in client._held(subscription)] == ["3-0"]
    assert client._held(subscription) == []
    client.on_event(event("4-0"))
    assert sent(client) == ["4-0"]


class History:
    """What is in the history when it is read; what comes live at the time when it is read comes before."""

    def __init__(self, client: Socket, recorded: list[Published], live: list[Published]) -> None:
        self.client, self.recorded, self.live = client, recorded, live

    def of_question(self, domain: str, question: str) -> Iterator[Published]:
        for published in self.live:
            self.client.on_event(published)
        yield from self.recorded


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_a_replay_has_no_gap_and_no_double(before: int, held: int, late: int, after: int) -> None:
    """`held` events come live while the history is read, `late` ones are in it and come live after that."""
    client = Socket(None, Runtime(Config()), Instance("d", "d"), SocketLimit(0))
    places = [f"{n // 3 + 1}-{n % 3}" for n in range(before + held + late + after)]
    events = [event(place) for place in places]
    history = History(client, events[: before + held + late], events[before : before + held])
    client.runtime.__dict__["history"] = history
    client._subscriptions[CHAT_EVENTS, "q"] = subscription = Subscription([])
    client._replay(subscription, "q")
    for published in events[before + held :]:
        client.on_event(published)
    assert sent(client) == places
    assert subscription.held is None


def test_a_replay_is_told_of_its_own_question_alone(client: Socket) -> None:
    client._subscriptions[CHAT_EVENTS, "q"] = Subscription(last=(9, 0))
    client._subscriptions[CHAT_EVENTS, ""] = Subscription()
    client.on_event(event("5-0"))
    client.on_event(event("6-0", doc_id="other"))
    client.on_event(event("10-0"))
    assert sent(client) == ["6-0", "10-0"]


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "LARGEST_HELD", 3)
    ours, theirs = socket.socketpair()
    client = Socket(Connection(ours), Runtime(Config()), Instance("d", "d"), SocketLimit(0))
    client._subscriptions[CHAT_EVENTS, "q"] = subscription = Subscription([])
    for n in range(5):
        client.on_event(event(f"{n + 1}-0"))
    assert len(subscription.held or ()) == 3
    assert theirs.recv(1) == b""
    ours.close()
    theirs.close()


def test_an_unsubscribed_client_gets_nothing_more(client: Socket) -> None:
    client._subscriptions[CHAT_EVENTS, "q"] = Subscription()
    client._obey("UNSUBSCRIBE", {"type": CHAT_EVENTS, "id": "q"}, Permissions(()))
    client.on_event(event("1-0"))
    assert sent(client) == []


@pytest.mark.parametrize(
    ("method", "payload", "status"),
    [
        ("SUBSCRIBE", {"type": CHAT_EVENTS}, "403 Forbidden"),
        ("SUBSCRIBE", {}, "404 Page Not Found"),
        ("UNSUBSCRIBE", None, "404 Page Not Found"),
        ("PUBLISH", {"type": CHAT_EVENTS}, "405 Method Not Allowed"),
        ("", None, "405 Method Not Allowed"),
    ],
)
def test_a_command_that_is_refused(client: Socket, method: str, payload: Any, status: str) -> None:
    with pytest.raises(CommandError) as caught:
        client._obey(method, payload, Permissions(()))
    assert caught.value.status == status
    assert client._subscriptions == {}


def test_the_right_is_named_that_is_missing(client: Socket) -> None:
    with pytest.raises(CommandError, match=r"can't subscribe to io\.cozy\.files$"):
        client._obey("SUBSCRIBE", {"type": "io.cozy.files"}, Permissions(()))


def test_a_second_auth_changes_nothing_however_long_its_token(client: Socket) -> None:
    client._read(json.dumps({"method": "AUTH", "payload": "t" * 2000}), Permissions(()))
    assert client._subscriptions == {}


# writes


def test_writes_of_several_threads_are_whole() -> None:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    ours.settimeout(10)
    writes = _WholeWrites(ours)
    size, count = 20_000, 10
    threads = [
        threading.Thread(target=lambda b=byte: [writes.send(bytes([b]) * size) for _ in range(count)])
        for byte in b"abcd"
    ]
    for thread in threads:
        thread.start()
    received = b""
    theirs.settimeout(10)
    while len(received) < size * count * len(threads):
        received += theirs.recv(1 << 16)
    for thread in threads:
        thread.join(10)
    frames = {received[n : n + size] for n in range(0, len(received), size)}
    assert frames == {bytes([byte]) * size for byte in b"abcd"}
    ours.close()
    theirs.close()


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=20))
@settings(deadline=None, max_examples=20)
def test_what_is_not_taken_at_once_is_sent_whole_and_in_order(sizes: list[int]) -> None:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    client = Socket(Connection(ours), Runtime(Config()), Instance("d", "d"), SocketLimit(0))
    writer = threading.Thread(target=client._write)
    writer.start()
    texts = [f"{number}:{'x' * size}" for number, size in enumerate(sizes)]
    sender = threading.Thread(target=lambda: [client._send_now(text) for text in texts])
    sender.start()
    theirs.settimeout(10)
    received, expected = b"", b"".join(map(_frame, texts))
    while len(received) < len(expected):
        received += theirs.recv(1 << 16)
    assert received == expected
    sender.join(10)
    client._outbox.close()
    writer.join(10)
    ours.close()
    theirs.close()


def test_nothing_goes_between_the_parts_of_a_frame() -> None:
    """An error is sent by another thread than the events are: it may come before the rest of a frame is handed over."""
    ours, theirs = socket.socketpair()
    writes = _WholeWrites(ours)
    frame = b"a" * 1_000_000
    taken = writes.send_now(frame)
    assert 0 < taken < len(frame)
    theirs.settimeout(10)
    received = _received(theirs, taken)
    assert writes.send_now(b"b") == 0
    sender = threading.Thread(target=writes.send, args=(b"c",))
    sender.start()
    received += _received(theirs, len(frame) - taken + 1)
    sender.join(10)
    assert received == frame + b"c"
    assert writes.send_now(b"b") == 1
    ours.close()
    theirs.close()


def _received(sock: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        received += sock.recv(size - len(received))
    return received


@pytest.mark.parametrize("size", [1, 125, 126, 65_535, 65_536])
def test_a_frame_is_read_as_it_was_meant(size: int) -> None:
    text = "é" * (size // 2) + "x" * (size % 2)
    reader = FrameReader(ConnectionType.CLIENT)
    reader.receive_data(_frame(text))
    (message,) = reader.events()
    assert isinstance(message, TextMessage)
    assert (message.data, message.message_finished) == (text, True)


def test_a_client_that_is_cut_off_sees_the_end() -> None:
    ours, theirs = socket.socketpair()
    writes = _WholeWrites(ours)
    writes.shut()
    theirs.settimeout(10)
    assert theirs.recv(1) == b""
    ours.close()
    writes.shut()
    theirs.close()


def test_a_client_that_is_too_slow_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "LARGEST", 2 * len(event("1-0").text))
    ours, theirs = socket.socketpair()
    client = Socket(Connection(ours), Runtime(Config()), Instance("d", "d"), SocketLimit(0))
    client._subscriptions[CHAT_EVENTS, "q"] = Subscription()
    client.on_event(event("1-0"))
    client.on_event(event("2-0"))
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)
    client.on_event(event("3-0"))
    theirs.settimeout(10)
    assert theirs.recv(1) == b""
    ours.close()
    theirs.close()


def test_a_key_that_cannot_be_looked_up_is_not_called_wrong() -> None:
    config = Config.model_validate({"couchdb": {"url": "http://127.0.0.1:1/"}})
    client = Socket(None, Runtime(config), Instance("d", "d"), SocketLimit(0))
    key = f"rck_{'0' * 16}_{'0' * 64}"
    with pytest.raises(CommandError) as caught:
        client._authenticate(json.dumps({"method": "AUTH", "payload": key}))
    assert caught.value.status == "503 Service Unavailable"
