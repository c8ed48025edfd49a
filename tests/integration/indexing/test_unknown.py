"""Unknown is not empty: what cannot be read deletes nothing, and the checkpoint stays."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from ragcore.documents import FILES
from ragcore.errors import Retryable
from ragcore.indexing.feed import run_feed
from ragcore.instances import Instance
from ragcore.jobs import FeedJob
from ragcore.runtime import Runtime
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.support.files import Drive
from tests.support.sandbox import Sandbox


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


@pytest.fixture
def between(runtime: Runtime) -> Iterator[Between]:
    server = Between(runtime.config.couchdb.url)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def work(runtime: Runtime, between: Between) -> Work:
    """Of a process that reaches the database through what is in between."""
    url = f"http://127.0.0.1:{between.server_address[1]}/"
    config = runtime.config.model_copy(update={"couchdb": runtime.config.couchdb.model_copy(update={"url": url})})
    return Work(Runtime(config), CeleryQueue(create_app(config)))


GATEWAY = (404, {"message": "no route matched"})
ROWS = (200, {"rows": [{"key": "x", "error": "internal_server_error"}]})


@pytest.mark.parametrize(
    ("doctype", "answer"),
    [("io-cozy-ai-chat-assistants/_all_docs", GATEWAY), ("io-cozy-files/_all_docs", GATEWAY),
     ("io-cozy-files/_all_docs", ROWS), ("io-cozy-files/_changes", (200, {"results": [{"id": "x", "doc": None}]}))],
    ids=["assistants", "folders", "some folders", "changes"],
)  # fmt: skip
def test_what_cannot_be_read_is_not_empty(
    work: Work, between: Between, runtime: Runtime, instance: Instance, until: Callable, doctype: str, answer: object
) -> None:
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    openrag = runtime.openrag(instance)
    Work(runtime, CeleryQueue(create_app(runtime.config))).feed(instance.domain)
    until(lambda: openrag.workspaces() and set(openrag.files(folder.id)) == {file["_id"]})
    until(lambda: not list(work.ledger.all()) or not any(o.domain == instance.domain for o in work.ledger.all()))
    before = runtime.store.get_or_new(instance, FILES, "_local/rag-index")
    work.ledger.add(FeedJob(instance.domain))
    between.spoil = lambda method, path: answer if doctype in path.replace("%2F", "/") else None
    with pytest.raises(Retryable):
        run_feed(work, FeedJob(instance.domain))
    assert set(openrag.files(folder.id)) == {file["_id"]}
    assert runtime.store.get_or_new(instance, FILES, "_local/rag-index") == before
    between.spoil = lambda method, path: None
    run_feed(work, FeedJob(instance.domain))


@pytest.mark.parametrize("status", [200, 201, 204, 302, 304, 404])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_page_of_somebody_in_between_is_no_answer_of_openrag(
    runtime: Runtime, instance: Instance, sandbox: Sandbox, until: Callable, method: str, status: int
) -> None:
    """A login page, a redirect, a 404 that is not openRAG's: the file is sent, or deleted, later."""
    if (method, status) == ("DELETE", 204):
        pytest.skip("a 204 has no body to tell by")
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    openrag = runtime.openrag(instance)
    work = Work(runtime, CeleryQueue(create_app(runtime.config)))
    spoiled = {"method": method, "route": f"/file/{file['_id']}$", "times": 1, "status": status}
    page = {"body": "<html>sign in</html>", "headers": {"Location": "/indexer/supported/types"}}
    if method == "POST":
        sandbox.fault(**spoiled, **page)
    work.feed(instance.domain)
    until(lambda: openrag.workspaces() and set(openrag.files(folder.id)) == {file["_id"]}, within=30)
    if method == "DELETE":
        sandbox.fault(**spoiled, **page)
        drive.editor.trash(file)
        work.feed(instance.domain)
        until(lambda: set(openrag.files(folder.id)) == set(), within=30)
