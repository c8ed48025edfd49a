"""The page's files, and what guards them."""

import gzip
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from api import assets
from api.app import create_app
from api.assets import Assets
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, FeedJob, OperateJob, WalkJob
from ragcore.runtime import Runtime
from tests.support.api import Client

HTML = "<!doctype html><title>Chat</title>" + "<p>Good day</p>" * 100
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "dompurify",
}
Get = Callable[..., TestResponse]


class NoQueue:
    def answer(self, job: AnswerJob) -> None: ...

    def has_answers(self) -> bool:
        return False

    def feed(self, job: FeedJob) -> None: ...

    def walk(self, job: WalkJob) -> None: ...

    def operate(self, job: OperateJob) -> None: ...


@pytest.fixture(scope="module")
def instance(runtime: Runtime) -> Instance:
    """One for all of these: nothing here writes to it."""
    return runtime.instances.add(f"t{uuid.uuid4().hex[:12]}.localhost")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "static"
    (made / "lib").mkdir(parents=True)
    (made / "index.html").write_text(HTML)
    (made / "lib" / "dom.js").write_text("export const h = 1\n" * 50)
    (tmp_path / "secret.txt").write_text("secret")
    return made


@pytest.fixture
def get(runtime: Runtime, instance: Instance, folder: Path) -> Get:
    app = create_app(runtime, NoQueue())
    app.extensions["assets"] = Assets(folder)

    def send(path: str, host: str = "", method: str = "GET", **headers: str) -> TestResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return app.test_client().open(path, method=method, headers={"Host": host or instance.domain, **named})

    return send


def test_the_page_is_at_the_root(get: Get) -> None:
    response = get("/")
    assert (response.status_code, response.text) == (200, HTML)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert get("/static/index.html").text == HTML


def test_what_guards_it(get: Get, instance: Instance) -> None:
    host = f"{instance.domain}:8080"
    expected = POLICY | {"connect-src": f"'self' ws://{host} wss://{host}"}
    for path, status in (("/", 200), ("/static/lib/dom.js", 200), ("/static/no.js", 404)):
        response = get(path, host=host)
        assert response.status_code == status
        directives = [part.strip().partition(" ") for part in response.headers["Content-Security-Policy"].split(";")]
        assert {name: value for name, _, value in directives} == expected
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/", "/static/lib/dom.js"])
def test_an_unknown_host_is_a_404_that_does_not_say_its_name(get: Get, path: str) -> None:
    response = get(path, host="evil.example; script-src *")
    assert response.status_code in (400, 404)
    response = get(path, host="evil.example")
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/vnd.api+json"
    assert "Content-Security-Policy" not in response.headers


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("a.svg", "image/svg+xml; charset=utf-8"),
        ("a.png", "image/png"),
        ("a.json", "application/json"),
        ("a.woff2", "font/woff2"),
        ("a.webmanifest", "application/manifest+json"),
        ("LICENSE", "text/plain; charset=utf-8"),
        ("a.unknown", "application/octet-stream"),
    ],
)
def test_types(get: Get, folder: Path, name: str, mime: str) -> None:
    (folder / name).write_text("x")
    assert get(f"/static/{name}").headers["Content-Type"] == mime


def test_a_browser_asks_again_and_gets_what_changed(get: Get, folder: Path) -> None:
    first = get("/")
    assert first.headers["Cache-Control"] == "no-cache"
    for etag in (first.headers["ETag"], f'"other", {first.headers["ETag"]}', "*"):
        same = get("/", If_None_Match=etag, Accept_Encoding="gzip")
        assert (same.status_code, same.data) == (304, b"")
        assert same.headers["ETag"] == first.headers["ETag"]
        assert "Content-Security-Policy" in same.headers
    (folder / "index.html").write_text("changed")
    changed = get("/", If_None_Match=first.headers["ETag"])
    assert (changed.status_code, changed.text) == (200, "changed")


@pytest.mark.parametrize("accepted", ["gzip", "gzip, deflate, br", "br;q=1, gzip;q=0.5", "*"])
def test_it_is_compressed_for_who_takes_it(get: Get, accepted: str) -> None:
    response = get("/", Accept_Encoding=accepted)
    assert (response.headers["Content-Encoding"], response.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert int(response.headers["Content-Length"]) == len(response.data) < len(HTML) / 2
    assert gzip.decompress(response.data).decode() == HTML


@pytest.mark.parametrize("accepted", ["", "br", "gzip;q=0", "identity"])
def test_it_is_not_for_who_does_not(get: Get, accepted: str) -> None:
    response = get("/", Accept_Encoding=accepted)
    assert "Content-Encoding" not in response.headers
    assert (response.headers["Vary"], response.text) == ("Accept-Encoding", HTML)


def test_what_does_not_get_smaller_is_sent_as_it_is(get: Get, folder: Path) -> None:
    (folder / "a.png").write_bytes(content := os.urandom(5000))
    response = get("/static/a.png", Accept_Encoding="gzip")
    assert "Content-Encoding" not in response.headers
    assert response.data == content


def test_a_version_is_compressed_once(get: Get, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compressed: list[Any] = []
    compress = gzip.compress
    monkeypatch.setattr(assets.gzip, "compress", lambda data, **how: compressed.append(data) or compress(data, **how))
    for content in ("first version " * 50, "second " * 50):
        (folder / "index.html").write_text(content)
        assert [gzip.decompress(get("/", Accept_Encoding="gzip").data).decode() for _ in range(3)] == [content] * 3
    assert len(compressed) == 2
    assert assets._read.cache_info().maxsize == assets.REMEMBERED


def test_head(get: Get) -> None:
    response = get("/", method="HEAD")
    assert (response.status_code, response.data) == (200, b"")
    assert int(response.headers["Content-Length"]) == len(HTML)
    assert get("/", method="POST").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "no.js",
        "lib",
        "lib/",
        "../secret.txt",
        "..%2Fsecret.txt",
        "%2e%2e/secret.txt",
        "lib/../../secret.txt",
        "lib%2F..%2F..%2Fsecret.txt",
        "%2Fetc%2Fpasswd",
        "..%5Csecret.txt",
        "index.html%00.js",
        "x" * 300,
        "x/" * 3000,
    ],
)
def test_what_is_not_there(get: Get, path: str) -> None:
    response = get(f"/static/{path}")
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/vnd.api+json"
    assert response.json["errors"][0]["status"] == "404"
    assert b"secret" not in response.data


def test_links_do_not_lead_out(get: Get, folder: Path) -> None:
    (folder / "out.txt").symlink_to("../secret.txt")
    (folder / "up").symlink_to("..")
    (folder / "ring").symlink_to("ring")
    (folder / "in.js").symlink_to("lib/dom.js")
    for path in ("out.txt", "up/secret.txt", "ring"):
        assert get(f"/static/{path}").status_code == 404
    assert get("/static/in.js").status_code == 200


def test_a_page_that_is_not_installed(get: Get, folder: Path) -> None:
    (folder / "index.html").unlink()
    assert get("/").status_code == 404


@pytest.mark.parametrize("path", ["/static/no.js", "/static/../app.py", "/static/..%2Fapp.py", "/static/%2e%2e/app.py"])
def test_the_server_gives_nothing_else(client: Client, path: str) -> None:
    response = client.raw("GET", path)
    assert response.status_code == 404
    assert response.json()["errors"][0]["detail"]
