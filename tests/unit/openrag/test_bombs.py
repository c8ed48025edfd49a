"""A small answer that unpacks to a large one, from a real server: what it costs a process is bounded."""

import gzip
import io
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from ragcore.config import RagServer
from ragcore.errors import Unanswered
from ragcore.openrag import OpenRag, Upload
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
