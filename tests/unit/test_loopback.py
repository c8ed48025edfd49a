import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ragcore import loopback

AUTH = f"Basic {base64.b64encode(b'me:word').decode()}"


@pytest.mark.parametrize(
    ("url", "resolved", "host"),
    [
        ("http://alice.localhost:8080/x?y=1", "http://127.0.0.1:8080/x?y=1", "alice.localhost:8080"),
        ("http://alice.localhost/", "http://127.0.0.1/", "alice.localhost"),
        ("https://ALICE.LOCALHOST/", "https://127.0.0.1/", "ALICE.LOCALHOST"),
        ("ws://a.b.localhost:1/realtime/", "ws://127.0.0.1:1/realtime/", "a.b.localhost:1"),
        ("http://localhost:5984/", "http://localhost:5984/", "localhost:5984"),
        ("http://alice.localhost.example.org/", "http://alice.localhost.example.org/", "alice.localhost.example.org"),
        ("http://alicelocalhost/", "http://alicelocalhost/", "alicelocalhost"),
        ("http://127.0.0.1:8000/x", "http://127.0.0.1:8000/x", "127.0.0.1:8000"),
    ],
)
def test_names_under_localhost_are_the_loopback(url: str, resolved: str, host: str) -> None:
    assert loopback.resolve(url) == (resolved, host)


class Server(BaseHTTPRequestHandler):
    """Answers with the headers that it was sent, and a cookie."""

    def do_GET(self) -> None:  # noqa: N802
        body = json.dumps(dict(self.headers)).encode()
        self.send_response(200)
        self.send_header("Set-Cookie", "who=me")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://alice.localhost:{server.server_port}/"
        server.shutdown()


def test_a_session_knows_no_proxies(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert loopback.session().get(url).ok


def test_a_session_sends_what_is_its_own_and_no_cookie(url: str) -> None:
    session, seen = loopback.session(), []
    session.headers.update({"X-Mine": "1", "Accept": "text/plain"})
    session.auth = ("me", "word")
    session.hooks["response"].append(lambda response, **_: seen.append(response.status_code))
    sent = [session.get(url, headers={"accept": "application/json"}).json() for _ in range(2)]
    assert [(at["X-Mine"], at["accept"], at["Authorization"]) for at in sent] == [("1", "application/json", AUTH)] * 2
    assert not any("Cookie" in at for at in sent)
    assert seen == [200, 200]
