"""What comes through the door of the websocket that no good client sends, and who may open it at all."""

import itertools
import json
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import websocket
from websocket import ABNF
from werkzeug.serving import make_server

from api.app import create_app
from ragcore import loopback
from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS, Event
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.conftest import SOCKETS_PER_TOKEN
from tests.support.api import Client, Websocket
from tests.support.queue import Recorded

ONE_INSTANCE = True

TEXT, BINARY, MORE, PING = ABNF.OPCODE_TEXT, ABNF.OPCODE_BINARY, ABNF.OPCODE_CONT, ABNF.OPCODE_PING
NOT_THE_PROTOCOL, NOT_UTF_8, TOO_BIG = 1002, 1007, 1009
LISTED = "https://app.example.net"


def frame(opcode: int, data: bytes, last: bool = True, reserved: int = 0) -> bytes:
    return bytes(ABNF(int(last), reserved, 0, 0, opcode, 1, data).format())


def fragments(*pieces: bytes, opcode: int = TEXT) -> bytes:
    """One message, each piece in a frame of its own."""
    first, *others = pieces
    last = [frame(MORE, piece, last=n == len(others)) for n, piece in enumerate(others, 1)]
    return frame(opcode, first, last=not others) + b"".join(last)


def subscription(size: int) -> bytes:
    """A command of so many bytes."""
    return json.dumps({"method": "SUBSCRIBE", "payload": {"type": CONVERSATIONS, "id": ""}}).encode().ljust(size)


ENDED = {
    "a command over the limit": (frame(TEXT, subscription(1025)), TOO_BIG),
    "the same in binary": (frame(BINARY, subscription(1025)), TOO_BIG),
    "no command, over the limit": (frame(TEXT, b"x" * 2000), TOO_BIG),
    "few characters of many bytes": (frame(TEXT, '"€€€"'.encode() * 200), TOO_BIG),
    "fragments that sum up": (fragments(subscription(600), b" " * 300, b" " * 300), TOO_BIG),
    "fragments without an end": (frame(TEXT, b"x", last=False) + frame(MORE, b"x" * 900, last=False) * 200, TOO_BIG),
    "more than a token": (frame(TEXT, b'{"method": "AUTH", "payload": "%s"}' % (b"x" * 100_000)), TOO_BIG),
    "ten megabytes": (frame(TEXT, b"x" * 10_000_000), TOO_BIG),
    "invalid UTF-8": (frame(TEXT, b'{"method": "\xff"}'), NOT_UTF_8),
    "invalid UTF-8 in fragments": (fragments(b"\xc3", b"x"), NOT_UTF_8),
    "half a character": (frame(TEXT, b"\xe2\x82"), NOT_UTF_8),
    "compressed, as was not agreed": (frame(TEXT, b"\xabV\x02\x00", reserved=1), NOT_THE_PROTOCOL),
    "without a mask": (bytes([0x81, 1, 65]), NOT_THE_PROTOCOL),
    "a message inside another": (frame(TEXT, b"{", last=False) + frame(TEXT, b"}"), NOT_THE_PROTOCOL),
    "the end of no message": (frame(MORE, b"}"), NOT_THE_PROTOCOL),
    "an unknown kind": (bytes([0x83, 0x80, 0, 0, 0, 0]), NOT_THE_PROTOCOL),
    "a ping in pieces": (frame(PING, b"x", last=False), NOT_THE_PROTOCOL),
}


def end_of(socket: Websocket, sent: bytes) -> int:
    """The code that the socket is closed with. It is not reset: a client could not see the code then."""
    socket.socket.sock.sendall(sent)
    opcode, data = socket.socket.recv_data()
    assert opcode == ABNF.OPCODE_CLOSE
    assert socket.socket.sock.recv(1) == b""
    (code,) = struct.unpack(">H", data[:2])
    return int(code)


def test_a_bad_message_ends_its_own_socket_alone_with_a_code(
    client: Client, runtime: Runtime, instance: Instance
) -> None:
    """More sockets than a token may have at a time: each is let go."""
    with client.socket({"type": CONVERSATIONS}) as other:
        other.sync()
        for name in itertools.islice(itertools.cycle(ENDED), SOCKETS_PER_TOKEN + 5):
            sent, code = ENDED[name]
            with client.socket() as socket:
                assert end_of(socket, sent) == code, name
        runtime.store.save(instance, CONVERSATIONS, {"_id": "c1", "messages": []})
        assert other.receive()["payload"]["id"] == "c1"


def test_what_is_told_and_what_is_obeyed(client: Client, runtime: Runtime, instance: Instance) -> None:
    with client.socket() as socket:
        for sent in (
            frame(TEXT, b""), frame(TEXT, b"{"), frame(TEXT, b'{"method": "\\ud800"'), frame(BINARY, b"\xff\xfe\x00"),
            fragments(b"[", b"", b"1]"), frame(TEXT, b"NaN"), frame(BINARY, b"[" * 1024),
        ):  # fmt: skip
            socket.socket.sock.sendall(sent)
            assert socket.receive()["payload"]["status"] == "400 Bad Request", sent
        command = subscription(1024)
        socket.socket.sock.sendall(fragments(command[:20], b"", command[20:], opcode=BINARY))
        socket.send("AUTH", "x" * 60_000)  # a new token, which may be long
        socket.sync()
        runtime.store.save(instance, CONVERSATIONS, {"_id": "c2", "messages": []})
        assert socket.receive()["payload"]["id"] == "c2"


@pytest.mark.parametrize("message", [b"?", json.dumps({"method": "AUTH", "payload": "x" * 60_000}).encode()])
def test_a_flood_behind_a_long_replay_is_cut_off(
    client: Client, runtime: Runtime, instance: Instance, message: bytes
) -> None:
    """What a client sends waits while its subscription is obeyed, and that takes long when it reads nothing."""
    event = Event("CREATED", CHAT_EVENTS, "flood", {"object": "delta", "content": "x" * 900_000})
    for _ in range(20):
        runtime.publisher.publish(instance.domain, event)
    runtime.publisher.flush()
    with client.socket({"type": CHAT_EVENTS, "id": "flood"}) as socket, pytest.raises(OSError):
        flood(socket, frame(TEXT, message))


def flood(socket: Websocket, sent: bytes) -> None:
    began = time.monotonic()
    while time.monotonic() - began < 15:
        socket.socket.sock.sendall(sent)


@pytest.mark.parametrize(
    "first",
    [frame(BINARY, b"\xff"), frame(TEXT, b"{}"), frame(TEXT, subscription(80)), fragments(b"x" * 9000, b"")],
    ids=["no text", "no method", "another method", "fragments"],
)
def test_the_first_message_is_auth(client: Client, first: bytes) -> None:
    with closing(open_socket(client.base_url)) as opened:
        opened.sock.sendall(first)
        assert json.loads(opened.recv())["payload"]["status"] == "401 Unauthorized"
        assert opened.recv_data()[0] == ABNF.OPCODE_CLOSE


def test_nothing_is_compressed(client: Client) -> None:
    offered = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"
    with closing(open_socket(client.base_url, header=[offered])) as opened:
        assert "sec-websocket-extensions" not in opened.getheaders()


# who may open one


@pytest.fixture(scope="module")
def listing(runtime: Runtime) -> Iterator[Callable[[Instance], str]]:
    """The API as configured with origins: its base URL for an instance."""
    app = create_app(Runtime(runtime.config.model_copy(update={"origins": [LISTED, "app://ours"]})), Recorded())
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield lambda instance: f"http://{instance.domain}:{server.port}"
    server.shutdown()
    thread.join()
    server.server_close()


def open_socket(base_url: str, **options: Any) -> websocket.WebSocket:
    url, host = loopback.resolve(f"{base_url}/realtime/")
    return websocket.create_connection(url.replace("http", "ws", 1), host=host, timeout=20, **options)


@pytest.mark.parametrize("origin", [LISTED, "app://ours", "its own", None])
def test_who_is_let_in(listing: Callable[[Instance], str], client: Client, origin: str | None) -> None:
    """Also without an origin: that is no browser, and needs its token all the same."""
    url = listing(client.instance)
    told: dict[str, Any] = (
        {"suppress_origin": True} if origin is None else {"origin": url if origin == "its own" else origin}
    )
    with closing(open_socket(url, **told)) as opened:
        opened.send(json.dumps({"method": "AUTH", "payload": client.token}))
        opened.send("?")
        assert json.loads(opened.recv())["payload"]["status"] == "400 Bad Request"


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://app.example.net",
        f"{LISTED}:8443",
        f"{LISTED}.evil.example",
        f"{LISTED}@evil.example",
        f"{LISTED}, https://evil.example",
        "https://evil.app.example.net",
        "http://127.0.0.1",
        "null",
        "",
    ],
)
def test_a_page_of_elsewhere_is_refused_before_the_websocket(
    listing: Callable[[Instance], str], instance: Instance, origin: str
) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        open_socket(listing(instance), header=[f"Origin: {origin}"], suppress_origin=True)
    assert refused.value.status_code == 403
    (error,) = json.loads(refused.value.resp_body)["errors"]
    assert error["detail"] == "this origin may not open a websocket"
