"""The routes of files."""

import base64
import hashlib
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psutil
import pytest
import requests

from deploy.local.stack import Stack
from ragcore.documents import FILES, ROOT_ID, TRASH_ID
from ragcore.files.names import held
from ragcore.files.storage import TEMPORARY
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.files import Drive

Json = dict[str, Any]
Add = Callable[..., requests.Response]


@pytest.fixture
def scoped(runtime: Runtime, instance: Instance) -> Callable[..., Client]:
    return lambda scope=FILES: Client(runtime.config.public_url(instance.domain), instance, scope)


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    return Drive(runtime, instance)


@pytest.fixture
def add(scoped: Callable[..., Client]) -> Add:
    client = scoped()

    def send(
        name: str, content: Any = None, dir_id: str = ROOT_ID, more: str = "", **headers: str
    ) -> requests.Response:
        kind = "directory" if content is None else "file"
        path = f"/files/{dir_id}?Type={kind}&Name={quote(name)}{more}"
        named = {header.replace("_", "-"): value for header, value in headers.items()}
        return client.request("POST", path, data=content, headers=named)

    return send


@pytest.fixture
def patch(scoped: Callable[..., Client]) -> Callable[..., requests.Response]:
    def send(file_id: str, **attributes: Any) -> requests.Response:
        body = {"data": {"type": FILES, "id": file_id, "attributes": attributes}}
        return scoped().request("PATCH", f"/files/{file_id}", json=body)

    return send


def content_of(runtime: Runtime, instance: Instance, path: str) -> bytes:
    with runtime.storage.open(instance.domain, path) as file:
        return file.read()


def aside(runtime: Runtime) -> list[Path]:
    return list((runtime.storage.root / TEMPORARY).glob("*"))


def test_a_file_is_added(add: Add, runtime: Runtime, instance: Instance) -> None:
    response = add("Été.md", b"# Hello", Content_Type="text/markdown; charset=utf-8")
    assert response.status_code == 201
    assert response.headers["Content-Type"] == "application/vnd.api+json"
    data = response.json()["data"]
    attributes = data["attributes"]
    assert (data["type"], data["meta"]["rev"], data["rev"][:2]) == (FILES, data["rev"], "1-")
    assert data["relationships"]["parent"]["data"] == {"type": FILES, "id": ROOT_ID}
    md5sum = base64.b64encode(hashlib.md5(b"# Hello").digest()).decode()
    expected = {"type": "file", "name": "Été.md", "dir_id": ROOT_ID, "size": "7", "md5sum": md5sum}
    expected |= {"mime": "text/markdown", "class": "text", "trashed": False, "executable": False, "encrypted": False}
    assert {key: attributes[key] for key in expected} == expected
    stored = runtime.store.get(instance, FILES, data["id"])
    assert attributes == {key: value for key, value in stored.items() if not key.startswith("_")}
    assert content_of(runtime, instance, "/Été.md") == b"# Hello"


def test_what_the_parameters_say_is_kept(add: Add) -> None:
    more = "&CreatedAt=2020-02-03T04:05:06Z&UpdatedAt=2021-02-03T04:05:06%2B01:00&Executable=true&Tags=a,b"
    assert add("run.sh", b"x", more=more, Content_MD5="nd2HmGq0eNxgW/Ra6nKCew==").status_code == 412
    md5sum = base64.b64encode(hashlib.md5(b"x").digest()).decode()
    attributes = add("run.sh", b"x", more=more, Content_MD5=md5sum).json()["data"]["attributes"]
    assert attributes["created_at"] == attributes["metadata"]["datetime"] == "2020-02-03T04:05:06.000Z"
    assert attributes["updated_at"] == "2021-02-03T03:05:06.000Z"
    assert (attributes["executable"], attributes["tags"]) == (True, ["a", "b"])


@pytest.mark.parametrize("mime", ["", "application/octet-stream", "application/x-www-form-urlencoded"])
def test_a_type_that_says_nothing_is_taken_from_the_name(add: Add, mime: str) -> None:
    attributes = add("a.pdf", b"x", Content_Type=mime).json()["data"]["attributes"]
    assert (attributes["mime"], attributes["class"]) == ("application/pdf", "pdf")


def test_a_folder_is_added_and_filled(add: Add, runtime: Runtime, instance: Instance) -> None:
    folder = add("Papers").json()["data"]
    assert (folder["attributes"]["type"], folder["attributes"]["path"]) == ("directory", "/Papers")
    below = add("Old", dir_id=folder["id"]).json()["data"]
    assert below["attributes"]["path"] == "/Papers/Old"
    assert add("a.txt", b"a", dir_id=below["id"]).status_code == 201
    assert content_of(runtime, instance, "/Papers/Old/a.txt") == b"a"


def test_the_root_is_where_no_folder_is_named(scoped: Callable[..., Client]) -> None:
    response = scoped().request("POST", "/files/?Type=directory&Name=Papers")
    assert response.json()["data"]["attributes"]["path"] == "/Papers"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "x" * 256])
def test_a_bad_name(add: Add, patch: Callable[..., requests.Response], name: str, runtime: Runtime) -> None:
    assert add(name, b"x").status_code == 422
    assert add(name).status_code == 422
    file_id = add("fine", b"x").json()["data"]["id"]
    assert patch(file_id, name=name).status_code == 422
    assert aside(runtime) == []


@pytest.mark.parametrize("query", ["Name=a", "Type=note&Name=a", "Type=file", "Type=file&Name=a&CreatedAt=yesterday"])
def test_bad_parameters(scoped: Callable[..., Client], query: str) -> None:
    response = scoped().request("POST", f"/files/{ROOT_ID}?{query}", data=b"x")
    assert response.status_code == 422
    assert response.json()["errors"][0]["title"]


def test_a_name_that_is_taken(add: Add, drive: Drive) -> None:
    drive.file("/a.txt", "a")
    drive.folder("/Papers")
    for name in ("a.txt", "Papers"):
        assert add(name, b"x").status_code == 409
        assert add(name).status_code == 409
    assert content_of(drive.runtime, drive.instance, "/a.txt") == b"a"


def test_of_many_that_want_a_name_at_once_one_gets_it(add: Add, drive: Drive) -> None:
    contents = [str(number).encode() * 1000 for number in range(6)]
    with ThreadPoolExecutor(len(contents)) as pool:
        statuses = [answer.status_code for answer in pool.map(lambda content: add("a.txt", content), contents)]
    assert sorted(statuses) == [201, *[409] * 5]
    assert content_of(drive.runtime, drive.instance, "/a.txt") == contents[statuses.index(201)]


def test_a_name_that_is_being_written_is_waited_for(
    add: Add, patch: Callable[..., requests.Response], drive: Drive, until: Callable[..., Any]
) -> None:
    file_id = drive.file("/b.txt", "b")["_id"]
    with ThreadPoolExecutor(3) as pool:
        with held(drive.runtime.redis, drive.instance.domain, ROOT_ID, "a.txt"):
            waiting = [pool.submit(add, "a.txt", b"late"), pool.submit(patch, file_id, name="a.txt")]
            until(lambda: aside(drive.runtime))
            assert add("other.txt", b"x").status_code == 201
            drive.file("/a.txt", "first")
            assert not any(answer.done() for answer in waiting)
        assert [answer.result().status_code for answer in waiting] == [409, 409]
    assert content_of(drive.runtime, drive.instance, "/a.txt") == b"first"


def test_a_folder_that_is_moved_during_an_upload_gets_its_file(
    add: Add, patch: Callable[..., requests.Response], drive: Drive, until: Callable[..., Any]
) -> None:
    folder = drive.folder("/Papers")

    def pieces() -> Iterator[bytes]:
        yield b"hel"
        until(lambda: aside(drive.runtime))
        assert patch(folder.id, name="Documents").status_code == 200
        yield b"lo"

    assert add("a.txt", pieces(), dir_id=folder.id).status_code == 201
    assert content_of(drive.runtime, drive.instance, "/Documents/a.txt") == b"hello"


def test_an_unknown_folder(add: Add, drive: Drive) -> None:
    file = drive.file("/Papers/a.txt", "a")
    trashed = drive.folder("/Former")
    drive.editor.trash(drive.runtime.store.get(drive.instance, FILES, trashed.id))
    for dir_id in ("unknown", file["_id"], trashed.id, TRASH_ID, "_all", "_design%2Fdir-children"):
        assert add("x", b"x", dir_id=dir_id).status_code == 404
        assert add("x", dir_id=dir_id).status_code == 404


def test_a_large_body_is_streamed_over_the_guard(add: Add, runtime: Runtime, instance: Instance, stack: Stack) -> None:
    size, piece = runtime.config.limits.body + (64 << 20), b"x" * (1 << 20)

    def pieces() -> Iterator[bytes]:
        for _ in range(size // len(piece)):
            yield piece

    server = psutil.Process(stack.processes["api"].pid)
    before = memory(server)
    response = add("large.bin", pieces())
    assert response.status_code == 201
    assert response.json()["data"]["attributes"]["size"] == str(size)
    assert memory(server) - before < 32 << 20
    assert (runtime.storage.root / instance.domain / "large.bin").stat().st_size == size


def memory(server: psutil.Process) -> int:
    return sum(int(process.memory_info().rss) for process in [server, *server.children(recursive=True)])


@pytest.mark.parametrize(
    "framing", ["Content-Length: 100\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n9\r\nof"]
)
def test_a_body_that_breaks_off_is_no_file(
    client: Client, scoped: Callable[..., Client], drive: Drive, until: Callable[..., Any], framing: str
) -> None:
    parts = urlsplit(client.base_url)
    with socket.create_connection(("127.0.0.1", parts.port or 80)) as connection:
        head = f"POST /files/{ROOT_ID}?Type=file&Name=half.txt HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        connection.sendall(f"{head}Authorization: Bearer {scoped().token}\r\n{framing}".encode())
        until(lambda: aside(drive.runtime))
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(1000)
    assert not answer.startswith(b"HTTP/1.1 2")
    until(lambda: not aside(drive.runtime))
    assert drive.editor.tree.taken(ROOT_ID, {"half.txt"}) == set()


def test_a_file_is_shown(scoped: Callable[..., Client], drive: Drive) -> None:
    file = drive.file("/Papers/a.txt", "a")
    for doc_id in (file["_id"], file["dir_id"], ROOT_ID):
        data = scoped().request("GET", f"/files/{doc_id}").json()["data"]
        assert (data["id"], data["type"]) == (doc_id, FILES)
    for doc_id in ("unknown", "_all_docs", "_design", "_design%2Fdir-children"):
        assert scoped().request("GET", f"/files/{doc_id}").status_code == 404


def test_files_are_shown_by_their_ids(scoped: Callable[..., Client], drive: Drive) -> None:
    first, second = drive.file("/a.txt", "a"), drive.file("/b.txt", "b")
    keys = [second["_id"], "unknown", "_design/dir-children", ROOT_ID, first["_id"]]
    response = scoped().request("POST", "/files/_all_docs?include_docs=true", json={"keys": keys})
    assert [data["id"] for data in response.json()["data"]] == [second["_id"], ROOT_ID, first["_id"]]
    for body in ([], {}, {"keys": "a"}, {"keys": [1]}):
        assert scoped().request("POST", "/files/_all_docs", json=body).status_code == 400
    narrow = scoped(f"{FILES}:GET:{first['_id']}")
    assert narrow.request("POST", "/files/_all_docs", json={"keys": keys}).status_code == 403


def test_a_file_is_renamed_and_moved(patch: Callable[..., requests.Response], drive: Drive) -> None:
    file, other = drive.file("/Papers/a.txt", "a"), drive.folder("/Other")
    renamed = patch(file["_id"], name="b.md").json()["data"]
    assert (renamed["attributes"]["name"], renamed["attributes"]["mime"]) == ("b.md", "text/markdown")
    moved = patch(file["_id"], dir_id=other.id).json()["data"]
    assert (moved["attributes"]["name"], moved["attributes"]["dir_id"]) == ("b.md", other.id)
    assert content_of(drive.runtime, drive.instance, "/Other/b.md") == b"a"
    again = patch(file["_id"], name="b.md", dir_id=other.id)
    assert (again.status_code, again.json()["data"]["rev"]) == (200, moved["rev"])


def test_a_folder_is_moved_with_all_in_it(patch: Callable[..., requests.Response], drive: Drive) -> None:
    drive.file("/Papers/Old/a.txt", "a")
    papers, old = drive.folder("/Papers"), drive.folder("/Papers/Old")
    assert patch(papers.id, name="Documents").json()["data"]["attributes"]["path"] == "/Documents"
    assert drive.editor.tree.directory(old.id).path == "/Documents/Old"
    assert patch(papers.id, dir_id=old.id).status_code == 422
    assert content_of(drive.runtime, drive.instance, "/Documents/Old/a.txt") == b"a"


def test_what_cannot_be_moved(
    patch: Callable[..., requests.Response], scoped: Callable[..., Client], drive: Drive
) -> None:
    file, other = drive.file("/a.txt", "a"), drive.file("/b.txt", "b")
    assert patch(file["_id"], name="b.txt").status_code == 409
    assert patch(file["_id"], dir_id="unknown").status_code == 404
    assert patch(file["_id"], dir_id=other["_id"]).status_code == 404
    assert patch(file["_id"], dir_id=TRASH_ID).status_code == 404
    assert patch(file["_id"], name=1).status_code == 422
    assert patch("unknown", name="x").status_code == 404
    assert patch(ROOT_ID, name="x").status_code == patch(TRASH_ID, name="x").status_code == 403
    for body in ([], {}, {"data": None}, {"data": {"attributes": []}}):
        assert scoped().request("PATCH", f"/files/{file['_id']}", json=body).status_code == 400
    stale = scoped().request("PATCH", f"/files/{file['_id']}", json={}, headers={"If-Match": "9-a"})
    assert stale.status_code == 412


def test_files_and_folders_go_to_the_trash(scoped: Callable[..., Client], drive: Drive) -> None:
    def delete(doc_id: str) -> requests.Response:
        return scoped().request("DELETE", f"/files/{doc_id}")

    file, again = drive.file("/Papers/a.txt", "a"), drive.file("/a.txt", "b")
    attributes = delete(file["_id"]).json()["data"]["attributes"]
    expected = {"trashed": True, "dir_id": TRASH_ID, "restore_path": "/Papers", "name": "a.txt"}
    assert {key: attributes[key] for key in expected} == expected
    assert delete(again["_id"]).json()["data"]["attributes"]["name"] == "a (2).txt"
    assert delete(file["dir_id"]).json()["data"]["attributes"]["path"] == "/.cozy_trash/Papers"
    assert delete(file["_id"]).status_code == delete(file["dir_id"]).status_code == 400
    assert delete(ROOT_ID).status_code == delete(TRASH_ID).status_code == 403
    assert delete("unknown").status_code == 404


def test_rights_on_files(scoped: Callable[..., Client], drive: Drive) -> None:
    file, other = drive.file("/Papers/a.txt", "a"), drive.file("/Other/b.txt", "b")
    papers = file["dir_id"]

    def status(scope: str, method: str, doc_id: str, **attributes: str) -> int:
        body = {"data": {"attributes": attributes}}
        path = f"/files/{doc_id}" + ("?Type=directory&Name=New" if method == "POST" else "")
        return scoped(scope).request(method, path, json=body).status_code

    assert status("io.cozy.ai.chat.assistants", "GET", file["_id"]) == 403
    assert status(f"{FILES}:GET", "POST", papers) == status(f"{FILES}:GET", "DELETE", file["_id"]) == 403
    assert status(f"{FILES}:POST", "GET", file["_id"]) == 403
    for right in (FILES, f"{FILES}:GET:{file['_id']}", f"{FILES}:GET:{papers}"):
        assert status(right, "GET", file["_id"]) == 200
    narrow = f"{FILES}:ALL:{papers}"
    assert status(narrow, "GET", other["_id"]) == status(narrow, "GET", "unknown") == 403
    assert status(narrow, "POST", papers) == 201
    assert status(narrow, "POST", ROOT_ID) == status(narrow, "POST", other["dir_id"]) == 403
    assert status(narrow, "PATCH", file["_id"], name="c.txt") == 200
    assert status(narrow, "PATCH", file["_id"], dir_id=other["dir_id"]) == 403
    assert status(narrow, "DELETE", file["_id"]) == 200
    assert scoped().request("GET", f"/files/{papers}", headers={"Authorization": ""}).status_code == 401


def test_a_change_is_told_as_an_event(scoped: Callable[..., Client], add: Add) -> None:
    with scoped().socket({"type": FILES}) as websocket:
        websocket.sync()
        file_id = add("a.txt", b"a").json()["data"]["id"]
        scoped().request("DELETE", f"/files/{file_id}")
        told = [websocket.receive() for _ in range(2)]
    assert [(event["event"], event["payload"]["id"]) for event in told] == [("CREATED", file_id), ("UPDATED", file_id)]
