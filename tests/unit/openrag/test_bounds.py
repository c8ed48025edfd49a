"""Answers that grow as they are unpacked, or never end, from a real server: what they cost a process is bounded."""

import gzip
import io
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from ragcore import loopback
from ragcore.aborting import Abortable
from ragcore.config import RagServer
from ragcore.errors import Retryable, Unanswered
from ragcore.openrag import OpenRag, Upload, bodies, client
from ragcore.openrag.sse import MAX_EVENT

BOMB = gzip.compress(bytes(6 * MAX_EVENT), 1)


class Bombs(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    status = 200

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(BOMB)))
        self.end_headers()
        try:
            self.wfile.write(BOMB)
        except OSError:
            self.close_connection = True

    do_POST = do_GET


@pytest.fixture
def openrag(request: pytest.FixtureRequest) -> Iterator[OpenRag]:
    handler = type("Handler", (Bombs,), {"status": request.param})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield OpenRag(requests.Session(), RagServer(url=f"http://127.0.0.1:{server.server_address[1]}"), "p")
        server.shutdown()


CALLS: dict[str, Callable[[OpenRag], object]] = {
    "a list": lambda o: o.workspaces(),
    "an upload": lambda o: o.create_file(Upload("f", "f.txt", io.BytesIO(b"text"), "text/plain", {})),
    "a list that is streamed": lambda o: list(o.files()),
}


@pytest.mark.parametrize(
    ("openrag", "call"),
    [(200, "a list"), (200, "an upload"), (500, "a list"), (500, "a list that is streamed")],
    indirect=["openrag"],
)
def test_what_an_answer_unpacks_to_is_bounded(openrag: OpenRag, call: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Unanswered, match="too long"):
            CALLS[call](openrag)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * MAX_EVENT


@pytest.fixture
def trickling(request: pytest.FixtureRequest) -> Iterator[OpenRag]:
    """Begins its answer at once, and goes on with a byte each 50 ms: no read of it waits for long."""

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + request.param)
                while True:
                    connection.sendall(b"a")
                    time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield OpenRag(loopback.session(), RagServer(url=f"http://127.0.0.1:{listener.getsockname()[1]}"), "p")


TRICKLES = pytest.mark.parametrize(
    "trickling",
    [b"X-Header: ", b"Transfer-Encoding: chunked\r\n\r\nffff\r\n"],
    ids=["headers", "a chunk"],
    indirect=True,
)


@TRICKLES
def test_a_completion_that_trickles_has_its_end(trickling: OpenRag) -> None:
    began = time.monotonic()
    with suppress(Retryable), trickling.chat({"stream": True}, 0.5, 0.5, 1.0, Abortable()) as chunks:
        assert list(chunks) == []
    assert time.monotonic() - began < 2


@TRICKLES
@pytest.mark.parametrize("call", CALLS)
def test_an_answer_that_trickles_has_its_end(trickling: OpenRag, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in [(client, "ANSWERED_WITHIN"), (client, "UPLOADED_WITHIN"), (bodies, "READ_WITHIN")]:
        monkeypatch.setattr(module, name, 0.3)
    began = time.monotonic()
    with pytest.raises(Retryable):
        CALLS[call](trickling)
    assert time.monotonic() - began < 2
