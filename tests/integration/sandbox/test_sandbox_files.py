import io
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import docx
import pytest
from sandbox_client import new_client, wait_for


def code_of(response: Any) -> str:
    return str(response.json()["detail"]).partition("]")[0].strip("[")


def test_supported_types(client: Any) -> None:
    types = client.call("GET", "/indexer/supported/types").json()
    assert {"txt", "md", "csv", "html", "pdf", "docx"} <= set(types["extensions"])
    assert "application/pdf" in types["mimetypes"]


def test_what_was_sent_is_in_the_metadata(client: Any) -> None:
    client.index("a/b".replace("/", "%"), "hello there", metadata={"md5sum": "1", "doc_rev": "1-a"})
    file = client.get("a%b").json()
    assert file["metadata"].items() >= {"md5sum": "1", "doc_rev": "1-a", "filename": "note.txt"}.items()
    assert client.server.session.get(file["documents"][0]["link"]).json()["page_content"] == "hello there"


def test_a_file_without_a_chunk_has_no_metadata(client: Any) -> None:
    client.index("empty", "", metadata={"md5sum": "d41d"})
    assert client.get("empty").json() == {"metadata": {}, "documents": []}


def test_a_file_is_unknown_while_its_first_task_runs(client: Any) -> None:
    client.server.control("POST", "settings", {"index_delay": 3600})
    uploaded = client.upload("f", "slow text")
    assert uploaded.status_code == 201
    task = client.server.session.get(uploaded.json()["task_status_url"]).json()
    assert task["task_state"] == "QUEUED"
    assert client.get("f").status_code == 404
    assert client.call("DELETE", "/indexer/partition/{p}/file/f").status_code == 404
    again = client.upload("f", "other text")
    assert (again.status_code, code_of(again)) == (409, "DOCUMENT_INDEXING_IN_PROGRESS")
    assert again.json()["extra"] == {"existing_task_id": task["task_id"], **uploaded.json()}
    client.server.control("POST", "settings", {"index_delay": 0})
    assert client.end_of(uploaded) == "COMPLETED"
    assert client.get("f").status_code == 200


def test_a_put_overtakes_the_first_task_and_keeps_its_workspaces(client: Any) -> None:
    client.workspace("w")
    client.server.control("POST", "settings", {"index_delay": 3600})
    first = client.upload("f", "old text", workspace_ids='["w"]')
    second = client.upload("f", "new text", method="PUT")
    assert second.status_code == 202
    client.server.control("POST", "settings", {"index_delay": 0})
    assert client.end_of(second) == "COMPLETED"
    assert client.end_of(first) == "CANCELLED"
    found = client.call("GET", "/search/partition/{p}?text=text").json()["documents"]
    assert [document["content"] for document in found] == ["new text"]
    assert client.members("w") == ["f"]


def test_the_conflicts_of_an_upload(client: Any) -> None:
    client.index("a", "the same")
    known = client.upload("a", "another")
    assert (known.status_code, known.json()["detail"]) == (
        409,
        f"File 'a' already exists in partition {client.partition}",
    )
    double = client.upload("b", "the same")
    assert (double.status_code, code_of(double)) == (409, "DOCUMENT_CONTENT_EXISTS")
    assert double.json()["extra"] == {"existing_file_id": "a"}
    client.index("b", "different")
    assert code_of(client.upload("b", "the same", method="PUT")) == "DOCUMENT_CONTENT_EXISTS"
    client.server.control("POST", "settings", {"swap": [client.partition]})
    assert code_of(client.upload("c", "third")) == "EMBEDDER_SWAP_IN_PROGRESS"
    assert code_of(client.upload("b", "third", method="PUT")) == "EMBEDDER_SWAP_IN_PROGRESS"
    client.server.control("POST", "settings", {"swap": []})
    assert client.upload("c", "third").status_code == 201


def test_the_same_content_is_no_duplicate_in_another_partition(client: Any, other: Any) -> None:
    client.index("a", "the same")
    other.index("a", "the same")
    client.call("DELETE", "/indexer/partition/{p}/file/a")
    client.index("b", "the same")


def test_an_older_server_calls_a_running_task_of_the_same_id_a_duplicate(client: Any) -> None:
    client.server.control("POST", "settings", {"legacy": True, "index_delay": 3600})
    client.upload("a", "the same")
    double = client.upload("a", "the same")
    assert (code_of(double), double.json()["extra"]["existing_file_id"]) == ("DOCUMENT_CONTENT_EXISTS", "a")


def test_the_other_refusals_of_an_upload(client: Any) -> None:
    path = "/indexer/partition/{p}/file/f"
    assert client.call("POST", path, data={"metadata": "{}"}).status_code == 400
    assert client.upload("f", "x", metadata=[1]).status_code == 422
    assert client.call("POST", path, files={"file": ("a.txt", "x")}, data={"metadata": "{"}).status_code == 422
    assert client.upload("f", "x", workspace_ids="[1]").status_code == 422
    invalid = client.upload("\n", "x")
    assert invalid.status_code == 422
    assert set(invalid.json()["detail"][0]) == {"loc", "msg", "type"}
    assert client.upload("f", "x", "a.xyz").status_code == 415
    assert client.upload("f", "x", workspace_ids='["none"]').status_code == 404
    assert client.upload("f", "x", method="PUT").status_code == 404
    client.server.control("POST", "settings", {"max_file_size": 5, "quota": 0})
    assert client.upload("f", "too long").status_code == 413
    assert client.upload("f", "x").status_code == 429


def test_a_mimetype_stands_in_for_an_unknown_extension(client: Any) -> None:
    client.index("f", "# Title\nwords", "README", metadata={"mimetype": "text/markdown; charset=utf-8"})


def test_metadata_is_merged_without_indexing_again(client: Any) -> None:
    client.index("f", "text", metadata={"md5sum": "1", "name": "old"})
    path = "/indexer/partition/{p}/file/f"
    changed = client.call("PATCH", path, data={"metadata": json.dumps({"name": "new", "filename": "new.txt"})})
    assert changed.status_code == 200
    assert client.get("f").json()["metadata"].items() >= {"md5sum": "1", "name": "new"}.items()
    assert client.call("GET", "/partition/{p}/").json()["files"][0]["filename"] == "new.txt"
    assert client.call("PATCH", path.replace("/f", "/g")).status_code == 404


def test_a_deleted_file_is_found_no_more(client: Any) -> None:
    client.index("f", "peculiar words")
    assert client.call("DELETE", "/indexer/partition/{p}/file/f").status_code == 204
    assert client.call("DELETE", "/indexer/partition/{p}/file/f").status_code == 404
    assert client.call("GET", "/search/partition/{p}?text=peculiar").json() == {"documents": []}


def test_a_broken_file_fails_and_leaves_nothing(client: Any) -> None:
    assert client.end_of(client.upload("f", b"not a pdf", "a.pdf")) == "FAILED"
    assert client.get("f").status_code == 404
    assert client.upload("f", "fine", "a.txt").status_code == 201
    assert client.call("GET", "/indexer/task/none").status_code == 404


def test_word_documents_are_read(client: Any) -> None:
    document = docx.Document()
    document.add_paragraph("Before the table")
    document.add_table(1, 2).rows[0].cells[1].text = "inside"
    content = io.BytesIO()
    document.save(content)
    client.index("f", content.getvalue(), "a.docx")
    assert client.call("GET", "/search/partition/{p}?text=inside").json()["documents"]


class Receiver(ThreadingHTTPServer):
    """Keeps the callbacks that it gets: the Host header, the Authorization header, the JSON."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str | None, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received.append((self.headers["Host"], self.headers["Authorization"], body))
        self.send_response(500)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_the_callback_tells_how_the_task_ended(client: Any, receiver: Receiver) -> None:
    host = f"alice.localhost:{receiver.server_port}"
    fields = {"callback_url": f"http://{host}/status?a=1", "callback_token": "t0"}
    client.upload("good", "text", metadata={"doc_rev": "1-a"}, **fields)
    client.upload("bad", b"no pdf", "bad.pdf", **fields)
    wait_for(lambda: len(receiver.received) == 2)
    by_file = {body["file_id"]: (got_host, token, body) for got_host, token, body in receiver.received}
    assert by_file["good"][:2] == (host, "Bearer t0")
    assert by_file["good"][2] == {
        "partition": client.partition,
        "file_id": "good",
        "status": "success",
        "metadata": {"doc_rev": "1-a"},
    }
    assert by_file["bad"][2]["status"] == "error"


def test_the_state_survives_a_restart_and_unfinished_tasks_run_again(start: Callable[..., Any]) -> None:
    client = new_client(start(SANDBOX_INDEX_DELAY="3600"))
    client.workspace("w")
    task = client.upload("f", "text that lasts", workspace_ids='["w"]').json()["task_status_url"]
    client.server.stop()
    client.server = start()
    wait_for(lambda: client.get("f").status_code == 200)
    assert client.members("w") == ["f"]
    assert client.call("GET", "/indexer/task/" + task.rpartition("/")[2]).json()["task_state"] == "COMPLETED"
