"""The session's HTTP, with a server that notes what comes in one piece, and answers what it is told to."""

import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ragcore.wire import Answer, Broken, Session, is_silent
from tests.support.certificates import certificate

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Gives the next of its answers for each piece that it receives, the last one again and again. Behind an empty one,
    and with `last_words` behind each, it closes the connection."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.answers, self.last_words = [OK], False
        self.pieces: list[bytes] = []
        self.accepted: list[socket.socket] = []
        self.context: ssl.SSLContext | None = None
        self.url = "http://127.0.0.1:{1}".format(*self.listener.getsockname())
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted.append(connection)
            with suppress(OSError):
                connection = self.context.wrap_socket(connection, server_side=True) if self.context else connection
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        while piece := _received(connection):
            self.pieces.append(piece)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            connection.sendall(answer)
            if self.last_words or not answer:
                connection.close()
                return


def _received(connection: socket.socket) -> bytes:
    with suppress(OSError):
        return connection.recv(1 << 20)
    return b""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.listener.close()
    for connection in made.accepted:
        connection.close()


def ask(server: Server, method: str = "GET", data: bytes | None = None, session: Session | None = None) -> Answer:
    session = session or Session(server.url, {"A": "b"}, 10)
    return session.request(method, f"{server.url}/doc?x=1", data=data, timeout=(5.0, 5.0))


@pytest.mark.parametrize("body", [None, b"", b"x", b"x" * 10_000])
def test_a_request_is_one_piece_over_one_connection(server: Server, body: bytes | None) -> None:
    session = Session(server.url, {"A": "b"}, 10)
    for _ in range(2):
        assert ask(server, "PUT", body, session).content == b"ok"
    assert len(server.accepted) == 1
    head = f"PUT /doc?x=1 HTTP/1.1\r\nHost: {server.url[7:]}\r\nA: b\r\nContent-Length: {len(body or b'')}\r\n\r\n"
    assert server.pieces == [head.encode() + (body or b"")] * 2


@pytest.mark.parametrize(
    ("answer", "status", "content"),
    [
        pytest.param(OK, 200, b"ok", id="a length"),
        pytest.param(b"HTTP/1.1 201\r\ncontent-LENGTH:0\r\n\r\n", 201, b"", id="empty, without a reason"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", id="without content"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\nA;x=y\r\nk\r\n\r\n34567\r\n0\r\n\r\n",
            200, b"ok\r\n\r\n34567", id="chunks",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nTrailer: x\r\nB: c\r\n\r\n",
            200, b"ok", id="headers behind chunks",
        ),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, b"ok", id="a hint"),
    ],
)  # fmt: skip
def test_an_answer(server: Server, answer: bytes, status: int, content: bytes) -> None:
    server.answers = [answer]
    session = Session(server.url, {}, 10)
    for _ in range(2):
        answered = ask(server, session=session)
        assert (answered.status_code, answered.content) == (status, content)
    assert len(server.accepted) == 1


def test_an_answer_in_many_pieces() -> None:
    ours, theirs = socket.socketpair()
    session = Session("http://db.test", {}, 10)
    session._connect = lambda timeout: ours  # type: ignore[method-assign]
    answers: list[Answer] = []
    asking = threading.Thread(
        target=lambda: answers.append(
            session.request("PUT", "http://db.test/", data=b"x" * 500_000, timeout=(5.0, 5.0))
        )
    )
    asking.start()
    received = b""
    while not received.endswith(b"\r\n\r\n" + b"x" * 500_000):
        received += theirs.recv(1 << 16)
    for byte in b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n":
        theirs.sendall(bytes([byte]))
    asking.join(5)
    theirs.close()
    assert answers[0].content == b"ok"


def test_head_has_no_content(server: Server) -> None:
    server.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"]
    assert ask(server, "HEAD").headers.get("content-length") == "7"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok", id="it says so"),
        pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", id="an old server"),
    ],
)
def test_connections_that_are_not_kept(server: Server, answer: bytes) -> None:
    server.answers = [answer, OK]
    session = Session(server.url, {}, 10)
    assert [ask(server, session=session).content for _ in range(2)] == [b"ok"] * 2
    assert len(server.accepted) == 2


def test_an_answer_that_ends_with_its_connection(server: Server) -> None:
    server.answers, server.last_words = [b"HTTP/1.1 200 OK\r\n\r\nok\r\n"], True
    assert ask(server).content == b"ok\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * (1 << 17),
    ],
)
def test_what_is_no_whole_answer(server: Server, answer: bytes) -> None:
    server.answers, server.last_words = [answer], True
    with pytest.raises(Broken):
        ask(server, "PUT", b"x")
    assert len(server.pieces) == 1


def test_what_only_reads_is_asked_once_more(server: Server) -> None:
    server.answers = [b"", OK]
    assert ask(server).content == b"ok"
    server.answers = [b"", b"", OK]
    with pytest.raises(OSError):  # noqa: PT011
        ask(server)


def test_a_server_that_says_nothing(server: Server) -> None:
    session = Session(server.url, {}, 10)
    server.answers = [b"HTTP/1.1 100 Continue\r\n\r\n"]
    with pytest.raises(TimeoutError):
        session.request("GET", server.url, timeout=(5.0, 0.05))
    assert len(server.pieces) == 1


def test_a_connection_that_the_server_closed_is_not_used_again(server: Server) -> None:
    session = Session(server.url, {}, 10)
    server.last_words = True
    for _ in range(3):
        assert ask(server, "PUT", b"x", session).content == b"ok"
        assert session._kept[0].socket.recv(1, socket.MSG_PEEK) == b""  # its end is here
    assert len(server.accepted) == 3


class Gevents:
    """A socket with the one of the system below it, as gevent's."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock


def test_silence() -> None:
    ours, theirs = socket.socketpair()
    assert is_silent(ours)
    assert is_silent(Gevents(ours))  # type: ignore[arg-type]
    theirs.close()
    assert not is_silent(ours)
    assert not is_silent(Gevents(ours))  # type: ignore[arg-type]
    ours.close()


def test_no_more_connections_are_kept_than_wanted(server: Server) -> None:
    session = Session(server.url, {}, 1)
    first, second = (session._connection(5.0) for _ in range(2))
    session._kept.extend([first, second])
    assert list(session._kept) == [second]


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl is installed, which makes certificates")
@pytest.mark.parametrize("name", ["IP:127.0.0.1", "DNS:other.example"])
def test_certificates_are_verified_and_no_proxy_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server, name: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    place = certificate(tmp_path, name)
    monkeypatch.setattr("ragcore.wire.DEFAULT_CA_BUNDLE_PATH", place)
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(place)
    server.url = server.url.replace("http", "https")
    if name == "IP:127.0.0.1":
        assert ask(server).content == b"ok"
    else:
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(server)
