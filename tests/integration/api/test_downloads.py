"""GET /files/download/:id, the content of a file."""

import hashlib
import os
import re
from collections.abc import Callable

import psutil
import pytest
import requests
from werkzeug.http import parse_options_header

from deploy.local.stack import Stack
from ragcore.documents import FILES, ROOT_ID
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.files import Drive

Download = Callable[..., requests.Response]


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    return Drive(runtime, instance)


@pytest.fixture
def download(runtime: Runtime, instance: Instance) -> Download:
    def send(file_id: str, scope: str = FILES, method: str = "GET", **headers: str) -> requests.Response:
        client = Client(runtime.config.public_url(instance.domain), instance, scope)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.request(method, f"/files/download/{file_id}", headers={"Accept-Encoding": "identity"} | named)

    return send


def test_the_content_of_a_file(drive: Drive, download: Download) -> None:
    file = drive.file("/Papers/boiler.html", "<script>alert(1)</script>")
    response = download(file["_id"])
    assert (response.status_code, response.text) == (200, "<script>alert(1)</script>")
    assert response.headers["Content-Type"] == "text/html"
    assert response.headers["Content-Length"] == "25"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert response.headers["Content-Disposition"].startswith('attachment; filename="boiler.html";')
    assert response.headers["ETag"] == f'"{hashlib.md5(response.content).hexdigest()}"'


@pytest.mark.parametrize(
    "name",
    ["a.txt", "Été.txt", 'a "b".txt', "a;b=c.txt", "100%41.txt", "back\\slash", "日本.txt", "a'b*c", "a\nb\r.txt"],
)
def test_the_name_comes_as_it_is(drive: Drive, download: Download, name: str) -> None:
    response = download(drive.file(f"/{name}", "x")["_id"])
    assert (response.status_code, response.text) == (200, "x")
    disposition, options = parse_options_header(response.headers["Content-Disposition"])
    assert (disposition, options["filename"]) == ("attachment", name)
    (plain,) = re.findall(r'filename="([^"]*)";', response.headers["Content-Disposition"])
    assert re.fullmatch(r"[ -~]+", plain)
    assert not set(plain) & set('"%\\')


@pytest.mark.parametrize("mime", ["nonsense", "text/html\r\nX-Evil: 1", "a/b/c", "é/é", 3, None])
def test_a_type_that_is_none(drive: Drive, download: Download, mime: object) -> None:
    file = drive.file("/a.txt", "x")
    drive.runtime.store.save(drive.instance, FILES, {**file, "mime": mime})
    response = download(file["_id"])
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/octet-stream")
    assert "X-Evil" not in response.headers


def test_what_has_no_content(drive: Drive, download: Download) -> None:
    lost = drive.file("/Papers/a.txt", "x")
    drive.runtime.storage.delete(drive.instance.domain, "/Papers/a.txt")
    for doc_id in (lost["_id"], lost["dir_id"], ROOT_ID, "unknown", "_design%2Fdir-children"):
        response = download(doc_id)
        assert response.status_code == 404
        assert response.json()["errors"][0]["detail"]


def test_what_a_client_has_is_not_sent_again(drive: Drive, download: Download) -> None:
    file = drive.file("/a.txt", "first")
    etag = download(file["_id"]).headers["ETag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        response = download(file["_id"], If_None_Match=known)
        assert (response.status_code, response.content, response.headers["ETag"]) == (304, b"", etag)
    drive.replace(drive.runtime.store.get(drive.instance, FILES, file["_id"]), "second")
    response = download(file["_id"], If_None_Match=etag)
    assert (response.status_code, response.text) == (200, "second")
    assert response.headers["Cache-Control"] == "private, no-cache"


def test_the_head_alone(drive: Drive, download: Download) -> None:
    response = download(drive.file("/a.txt", "Hello")["_id"], method="HEAD")
    assert (response.status_code, response.content, response.headers["Content-Length"]) == (200, b"", "5")


def test_a_file_in_the_trash_can_still_be_had(drive: Drive, download: Download) -> None:
    file = drive.editor.trash(drive.file("/Papers/a.txt", "Hello"))
    assert download(file["_id"]).text == "Hello"


def test_rights_on_content(drive: Drive, download: Download) -> None:
    file, other = drive.file("/Papers/a.txt", "a"), drive.file("/Other/b.txt", "b")
    for right in (f"{FILES}:GET", f"{FILES}:GET:{file['_id']}", f"{FILES}:GET:{file['dir_id']}"):
        assert download(file["_id"], right).status_code == 200
    narrow = f"{FILES}:GET:{file['dir_id']}"
    for right, doc_id in ((narrow, other["_id"]), (narrow, "unknown"), (f"{FILES}:POST", file["_id"]), ("x", ROOT_ID)):
        assert download(doc_id, right).status_code == 403
    assert download(file["_id"], Authorization="").status_code == 401
    assert download(file["_id"], If_Match="9-a").status_code == 412


def test_a_large_file_is_streamed(drive: Drive, client: Client, stack: Stack) -> None:
    file, size = drive.file("/large.bin", ""), 256 << 20
    os.truncate(drive.runtime.storage.root / drive.instance.domain / "large.bin", size)
    server = psutil.Process(stack.processes["api"].pid)
    before, most, came = memory(server), 0, 0
    with client.request("GET", f"/files/download/{file['_id']}", stream=True) as response:
        for piece in response.iter_content(32 << 20):
            came, most = came + len(piece), max(most, memory(server))
    assert came == size
    assert most - before < 32 << 20


def memory(server: psutil.Process) -> int:
    return sum(int(process.memory_info().rss) for process in [server, *server.children(recursive=True)])
