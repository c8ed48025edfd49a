"""An HTTP proxy before the document database that notes each request."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from deploy.local.ports import HOST

HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length")


@dataclass(frozen=True)
class Request:
    port: int  # the client's
    method: str
    path: str
    status: int
    size: int  # bytes of both bodies

    def __str__(self) -> str:
        return f"{self.method} {unquote(self.path)} -> {self.status}"


class Proxy(ThreadingHTTPServer):
    """`upstream` gives the database's URL; it is asked at each connection, once the stack has chosen the port."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, upstream: Callable[[], str]) -> None:
        super().__init__((HOST, 0), _Handler)
        self.upstream = upstream
        self.seen: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


@contextmanager
def proxy(upstream: Callable[[], str]) -> Iterator[Proxy]:
    with Proxy(upstream) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    """One client's connection, and its own to the database."""

    server: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.database = http.client.HTTPConnection(urlsplit(self.server.upstream()).netloc)

    def finish(self) -> None:
        self.database.close()
        super().finish()

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.database.request(self.command, self.path, body, dict(self.headers))
        response = self.database.getresponse()
        content = response.read()
        size = len(body) + len(content)
        self.server.seen.append(Request(self.client_address[1], self.command, self.path, response.status, size))
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward  # noqa: N815

    def log_message(self, *_: Any) -> None:
        return
