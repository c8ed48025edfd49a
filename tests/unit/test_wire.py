"""Connections of a pool, with a server that notes what comes in one piece."""

import socket
import threading
from collections.abc import Iterator

import pytest

from ragcore.wire import LARGEST_JOINED, HttpPool

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers each piece that it receives, when it is told to; `pieces` are of one connection after the other."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.pieces: list[bytes] = []
        self.accepted: list[socket.socket] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted.append(connection)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        while piece := connection.recv(1 << 20):
            self.pieces.append(piece)
            connection.sendall(ANSWER)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.listener.close()


@pytest.fixture
def pool(server: Server) -> HttpPool:
    return HttpPool(*server.listener.getsockname())


@pytest.mark.parametrize("body", [None, b"", b"x", b"x" * 10_000])
def test_a_request_is_one_piece(server: Server, pool: HttpPool, body: bytes | None) -> None:
    for _ in range(2):
        assert pool.urlopen("PUT", "/doc", body=body).data == b"ok"
    assert len(server.accepted) == 1
    assert [piece.partition(b"\r\n\r\n")[2] for piece in server.pieces] == [body or b""] * 2


def test_a_large_body_is_sent_whole(server: Server) -> None:
    ours, theirs = socket.socketpair()
    connection = HttpPool("db.test").ConnectionCls("db.test")
    connection.sock = ours
    body = b"x" * (3 * LARGEST_JOINED)
    sender = threading.Thread(target=connection.request, args=("PUT", "/doc", body))
    sender.start()
    received = b""
    while not received.endswith(b"\r\n\r\n" + body):
        received += theirs.recv(1 << 16)
    sender.join(10)
    theirs.close()
    ours.close()


class Gevents:
    """A socket with the one of the system below it, as gevent's."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    ours, theirs = socket.socketpair()
    connection = HttpPool("db.test").ConnectionCls("db.test")
    connection.sock = Gevents(ours)
    assert connection.is_connected
    theirs.close()
    assert not connection.is_connected
    ours.close()
