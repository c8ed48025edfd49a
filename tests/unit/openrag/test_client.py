"""Odd answers of openRAG; what a good one means is for the tests over the stand-in."""

import io
import json
import re
from collections.abc import Callable, Iterator

import pytest
import requests
import responses

from ragcore.config import RagServer
from ragcore.errors import NotFound, Refused, Retryable
from ragcore.openrag import OpenRag, Upload

URL = "http://openrag.test"
PARTITION = f"{URL}/partition/alice.localhost"


@pytest.fixture
def server() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as server:
        yield server


@pytest.fixture
def openrag() -> OpenRag:
    return OpenRag(requests.Session(), RagServer(url=f"{URL}/", api_key="k"), "alice.localhost")


def test_every_request_carries_the_key(server: responses.RequestsMock, openrag: OpenRag) -> None:
    headers = responses.matchers.header_matcher({"Authorization": "Bearer k"})
    server.post(PARTITION, status=201, match=[headers])
    openrag.create_partition()


@pytest.mark.parametrize("status", [201, 409])
def test_a_partition_that_exists_is_fine(server: responses.RequestsMock, openrag: OpenRag, status: int) -> None:
    server.post(PARTITION, status=status, json={"detail": "exists"})
    openrag.create_partition()


def test_no_partition_yet_has_no_workspaces(server: responses.RequestsMock, openrag: OpenRag) -> None:
    server.get(f"{PARTITION}/workspaces", status=404, json={"detail": "no partition"})
    assert openrag.workspaces() is None


def test_workspaces(server: responses.RequestsMock, openrag: OpenRag) -> None:
    server.get(f"{PARTITION}/workspaces", json={"workspaces": [{"workspace_id": "a", "display_name": "A"}]})
    assert openrag.workspaces() == {"a"}


CALLS: dict[str, Callable[[OpenRag], object]] = {
    "workspaces": lambda o: o.workspaces(),
    "workspaces/w/files": lambda o: set(o.files("w")),
    "files/f/workspaces": lambda o: o.file_workspaces("f"),
    "file/f": lambda o: o.file_metadata("f"),
}


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 504])
@pytest.mark.parametrize("path", CALLS)
def test_unknown_is_not_empty(server: responses.RequestsMock, openrag: OpenRag, path: str, status: int) -> None:
    server.get(f"{PARTITION}/{path}", status=status, body="<html>no</html>")
    with pytest.raises(Retryable):
        CALLS[path](openrag)


@pytest.mark.parametrize("body", ["<html>login</html>", "", "[]", "null", '"ok"', "{"])
@pytest.mark.parametrize("path", CALLS)
def test_a_success_that_is_no_json_object(
    server: responses.RequestsMock, openrag: OpenRag, path: str, body: str
) -> None:
    server.get(f"{PARTITION}/{path}", body=body)
    with pytest.raises(Retryable):
        CALLS[path](openrag)


@pytest.mark.parametrize("body", [{}, {"workspaces": None, "file_ids": None, "workspace_ids": None}])
@pytest.mark.parametrize("path", [path for path in CALLS if path != "file/f"])
def test_a_success_that_says_nothing(server: responses.RequestsMock, openrag: OpenRag, path: str, body: dict) -> None:
    server.get(f"{PARTITION}/{path}", json=body)
    with pytest.raises(Retryable):
        CALLS[path](openrag)


def test_a_server_that_is_away(server: responses.RequestsMock, openrag: OpenRag) -> None:
    server.get(f"{PARTITION}/workspaces", body=requests.ConnectionError("http://user:s3cret@openrag.test"))
    with pytest.raises(Retryable) as caught:
        openrag.workspaces()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(("status", "there"), [(200, True), (404, False)])
def test_whether_a_workspace_exists(server: responses.RequestsMock, openrag: OpenRag, status: int, there: bool) -> None:
    server.get(f"{PARTITION}/workspaces/w", status=status, json={"detail": "no such workspace"})
    assert openrag.has_workspace("w") is there


def test_a_workspace_of_our_own_that_exists_is_fine(server: responses.RequestsMock, openrag: OpenRag) -> None:
    server.post(f"{PARTITION}/workspaces", status=409, json={"detail": "taken"})
    server.get(f"{PARTITION}/workspaces/w", status=200, json={})
    openrag.create_workspace("w", "W")


def test_a_workspace_id_that_another_partition_holds(server: responses.RequestsMock, openrag: OpenRag) -> None:
    server.post(f"{PARTITION}/workspaces", status=409, json={"detail": "taken"})
    server.get(f"{PARTITION}/workspaces/w", status=404, json={"detail": "no such workspace"})
    with pytest.raises(Retryable, match="another partition"):
        openrag.create_workspace("w", "W")


@pytest.mark.parametrize("body", [{"metadata": {}}, {"metadata": None}, {}, {"metadata": []}])
def test_a_file_without_metadata_is_known(server: responses.RequestsMock, openrag: OpenRag, body: dict) -> None:
    server.get(f"{PARTITION}/file/f", json=body)
    assert openrag.file_metadata("f") == {}


def test_a_file_that_is_unknown(server: responses.RequestsMock, openrag: OpenRag) -> None:
    server.get(f"{PARTITION}/file/f", status=404, json={"detail": "unknown"})
    assert openrag.file_metadata("f") is None
    server.get(f"{PARTITION}/files/f/workspaces", status=404, json={"detail": "unknown"})
    with pytest.raises(NotFound):
        openrag.file_workspaces("f")


@pytest.mark.parametrize(
    ("file_id", "segment"),
    [("a b", "a%20b"), ("a?b", "a%3Fb"), ("a#b", "a%23b"), ("é", "%C3%A9"), ("a%2Fb", "a%252Fb"), ("a/b", "a%2Fb"),
     ("a&b=c+d", "a%26b%3Dc%2Bd"), ("...", "...")],
)  # fmt: skip
def test_ids_are_quoted(server: responses.RequestsMock, openrag: OpenRag, file_id: str, segment: str) -> None:
    server.delete(f"{URL}/indexer/partition/alice.localhost/file/{segment}", status=404, json={"detail": "unknown"})
    openrag.delete_file(file_id)
    assert server.calls[0].request.url.endswith(f"/file/{segment}")


@pytest.mark.parametrize("file_id", [".", ".."])
def test_an_id_of_dots_stays_below_the_files(server: responses.RequestsMock, openrag: OpenRag, file_id: str) -> None:
    server.assert_all_requests_are_fired = False
    server.add_callback("DELETE", re.compile(".*"), lambda request: (204, {}, ""))
    try:
        openrag.delete_file(file_id)
    except (Refused, NotFound):
        return
    assert server.calls[0].request.url.partition("/file/")[2]


def upload() -> Upload:
    return Upload("f", "a.txt", io.BytesIO(b"content"), "text/plain", {"md5sum": "x"}, "http://back", "t0ken", ("w",))


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_the_form_of_an_upload(server: responses.RequestsMock, openrag: OpenRag, method: str) -> None:
    sent: list[str] = []

    def take(request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
        sent.append(request.body.decode())  # type: ignore[union-attr]
        return 201, {}, "{}"

    server.add_callback(method, f"{URL}/indexer/partition/alice.localhost/file/f", take)
    (openrag.create_file if method == "POST" else openrag.replace_file)(upload())
    assert 'name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\ncontent\r\n' in sent[0]
    assert json.dumps({"md5sum": "x"}) in sent[0]
    assert 'name="callback_url"\r\n\r\nhttp://back' in sent[0]
    assert 'name="callback_token"\r\n\r\nt0ken' in sent[0]
    assert ('name="workspace_ids"\r\n\r\n["w"]' in sent[0]) is (method == "POST")


@pytest.mark.parametrize(("keep", "query"), [(True, "?keep_files=true"), (False, "")])
def test_the_files_of_a_deleted_workspace(
    server: responses.RequestsMock, openrag: OpenRag, keep: bool, query: str
) -> None:
    server.delete(f"{PARTITION}/workspaces/w", status=404, json={"detail": "unknown"})
    openrag.delete_workspace("w", keep_files=keep)
    assert server.calls[0].request.url == f"{PARTITION}/workspaces/w{query}"


@pytest.mark.parametrize("body", ["<html>sign in</html>", ""])
@pytest.mark.parametrize("status", [200, 302, 404])
def test_a_page_of_somebody_in_between_deletes_nothing(
    server: responses.RequestsMock, openrag: OpenRag, status: int, body: str
) -> None:
    server.delete(f"{URL}/indexer/partition/alice.localhost/file/f", status=status, body=body)
    with pytest.raises(Retryable):
        openrag.delete_file("f")


def test_a_passage(server: responses.RequestsMock, openrag: OpenRag) -> None:
    passage = {"page_content": "Hello", "metadata": {"partition": "alice.localhost", "page": 2}}
    server.get(f"{URL}/extract/a%2Fb", json=passage)
    assert openrag.passage("a/b") == passage


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"page_content": "Hello"},
        {"page_content": "Hello", "metadata": None},
        {"page_content": "Hello", "metadata": []},
        {"page_content": "Hello", "metadata": {}},
        {"page_content": "Hello", "metadata": {"partition": None}},
        {"page_content": "Hello", "metadata": {"partition": ["alice.localhost"]}},
        {"page_content": "Hello", "metadata": {"partition": "bob.localhost"}},
        {"page_content": "Hello", "metadata": {"partition": "alice.localhost "}},
        {"page_content": None, "metadata": {"partition": "alice.localhost"}},
    ],
)
def test_what_is_not_known_to_be_ours_is_no_passage(
    server: responses.RequestsMock, openrag: OpenRag, body: dict
) -> None:
    server.get(f"{URL}/extract/1", json=body)
    with pytest.raises(NotFound):
        openrag.passage("1")


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_a_passage_that_is_refused(server: responses.RequestsMock, openrag: OpenRag, status: int) -> None:
    mine = {"page_content": "Hello", "metadata": {"partition": "alice.localhost"}}
    server.get(f"{URL}/extract/1", status=status, json=mine | {"detail": "no"})
    with pytest.raises(NotFound):
        openrag.passage("1")


@pytest.mark.parametrize("passage_id", [".", ".."])
def test_a_passage_of_dots_is_not_asked_for(server: responses.RequestsMock, openrag: OpenRag, passage_id: str) -> None:
    with pytest.raises(NotFound):
        openrag.passage(passage_id)


@pytest.mark.parametrize(
    ("status", "body"),
    [(401, "{}"), (403, "<html>"), (404, "<html>"), (429, "{}"), (500, "{}"), (200, "[]"), (200, "")],
)
def test_a_passage_that_nobody_knows_of(
    server: responses.RequestsMock, openrag: OpenRag, status: int, body: str
) -> None:
    server.get(f"{URL}/extract/1", status=status, body=body)
    with pytest.raises(Retryable):
        openrag.passage("1")


def test_a_search_tells_its_passages_and_those_of_nobody_else(server: responses.RequestsMock, openrag: OpenRag) -> None:
    fine = {
        "metadata": {"file_id": "f", "filename": "a.txt", "partition": "alice.localhost"},
        "content": "A",
        "link": "l",
    }
    odd = [
        {"metadata": {"file_id": "f", "partition": "bob.localhost"}, "content": "B"},
        {"metadata": {"file_id": 3}, "content": "C"},
        {"metadata": {"file_id": "f"}, "content": " "},
        {"metadata": None, "content": "D"},
        "x",
    ]
    params = responses.matchers.query_param_matcher
    asked = {"text": "é?", "top_k": 3, "similarity_threshold": 0.5}
    url = f"{URL}/search/partition/alice.localhost"
    server.get(url, json={"documents": [*odd, fine]}, match=[params(asked | {"workspace": "w"})])
    server.get(f"{url}/file/a%3Fb", json={"documents": []}, match=[params(asked)])
    (passage,) = openrag.search("é?", 3, 0.5, "w")
    assert (passage.file_id, passage.filename, passage.content, passage.link) == ("f", "a.txt", "A", "l")
    assert openrag.search_file("a?b", "é?", 3, 0.5) == []
