"""What may stand between a process and the document database, for tests."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests

CUT = (0, None)  # instead of a status: the connection breaks
Spoil = Callable[[str, str], tuple[int, object] | None]


class Between(ThreadingHTTPServer):
    """Something between us and the document database that answers some of the requests itself.

    `target` gives the URL of the database, which may be known only later. `spoil` is asked with the method and the
    path; `spoil_after` too, once the database has done what was asked.
    """

    daemon_threads = True

    def __init__(self, target: Callable[[], str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target
        self.heal()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def heal(self) -> None:
        self.spoil: Spoil = lambda method, path: None
        self.spoil_after: Spoil = lambda method, path: None


@contextmanager
def between(target: Callable[[], str] = str) -> Iterator[Between]:
    """Serves inside the context; the target may be set later."""
    server = Between(target)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Between

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.spoil(self.command, self.path)
        if answer is None:
            done = self._ask(body)
            answer = self.server.spoil_after(self.command, self.path) or done
        if answer[0] == CUT[0]:
            self._cut()
        else:
            self._answer(*answer)

    def _ask(self, body: bytes) -> tuple[int, object]:
        """The database's answer; cut where it gives none."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        try:
            url = self.server.target().rstrip("/") + self.path
            response = requests.request(self.command, url, data=body, headers=headers, timeout=90)
        except requests.RequestException:
            return CUT
        return response.status_code, response.content

    def _answer(self, status: int, content: object) -> None:
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

    def log_message(self, format: str, *args: object) -> None:
        return
