"""What may stand between a process and the document database, for tests."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests


class Between(ThreadingHTTPServer):
    """Something between us and the document database that answers some of the requests itself."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target.rstrip("/")
        self.spoil: Callable[[str, str], tuple[int, object] | None] = lambda method, path: None


class _Handler(BaseHTTPRequestHandler):
    server: Between

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if spoiled := self.server.spoil(self.command, self.path):
            status, content = spoiled[0], json.dumps(spoiled[1]).encode()
        else:
            headers = {"Content-Type": "application/json"}
            url = self.server.target + self.path
            response = requests.request(self.command, url, data=body, headers=headers, timeout=20)
            status, content = response.status_code, response.content
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = _pass

    def log_message(self, format: str, *args: object) -> None:
        return
