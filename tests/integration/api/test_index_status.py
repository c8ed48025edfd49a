"""POST /ai/index/status: the callback of openRAG's indexing tasks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.ai import LARGEST_CALLBACK
from api.app import create_app
from ragcore.documents import STATUSES
from ragcore.errors import NotFound
from ragcore.indexing.status import callback_token
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document
from tasks.app import create_app as create_celery
from tasks.base import CeleryQueue
from tests.support.api import Client
from tests.support.files import Drive

CallBack = Callable[..., int]


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    return Drive(runtime, instance)


@pytest.fixture
def file(drive: Drive) -> Document:
    return drive.file("/Papers/one.txt", "first")


@pytest.fixture
def call_back(client: Client, instance: Instance) -> CallBack:
    """The status of the answer to a callback."""

    def send(file_id: str, status: str, rev: str, token: str = "") -> int:
        body = {"partition": instance.domain, "file_id": file_id, "status": status, "metadata": {"doc_rev": rev}}
        authorization = f"Bearer {token}" if token else ""
        headers = {"Authorization": authorization}
        return client.request("POST", "/ai/index/status", json=body, headers=headers).status_code

    return send


@pytest.fixture
def status(runtime: Runtime, instance: Instance, file: Document) -> Callable[[], Document]:
    return lambda: runtime.store.get(instance, STATUSES, file["_id"])


def test_a_callback_is_saved(call_back: CallBack, status, file: Document) -> None:
    assert call_back(file["_id"], "success", "1-a") == 204
    saved = status()
    assert (saved["status"], saved["docRev"], saved["indexed"]) == ("success", "1-a", True)
    assert saved["lastSuccessDate"].endswith("Z")
    assert call_back(file["_id"], "error", "2-a") == 204
    assert (status()["status"], status()["indexed"]) == ("error", True)
    assert status()["lastErrorDate"].endswith("Z")


@pytest.mark.parametrize(("rev", "wins"), [("9-c", False), ("10-b", True), ("11-a", True)])
def test_an_older_callback_does_not_win(call_back: CallBack, status, file: Document, rev: str, wins: bool) -> None:
    call_back(file["_id"], "success", "10-a")
    assert call_back(file["_id"], "error", rev) == 204
    assert (status()["status"], status()["docRev"]) == (("error", rev) if wins else ("success", "10-a"))


def test_of_callbacks_at_once_the_newest_wins(call_back: CallBack, status, file: Document) -> None:
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda number: call_back(file["_id"], "success", f"{number}-a"), range(1, 10)))
    assert set(answers) <= {204, 500}
    assert answers[-1] == 500 or status()["docRev"] == "9-a"


def test_files_that_are_gone_or_trashed_have_no_status(
    call_back: CallBack, drive: Drive, runtime: Runtime, instance: Instance
) -> None:
    trashed, inside = drive.file("/Papers/two.txt", "2"), drive.file("/Papers/Sub/three.txt", "3")
    drive.editor.trash(trashed)
    drive.editor.trash(runtime.store.get(instance, "io.cozy.files", inside["dir_id"]))
    for file_id in ("never", trashed["_id"], inside["_id"]):
        assert call_back(file_id, "success", "1-a") == 204
        with pytest.raises(NotFound):
            runtime.store.get(instance, STATUSES, file_id)


def test_a_token_must_be_the_one_of_the_file(call_back: CallBack, file: Document, instance: Instance) -> None:
    assert call_back(file["_id"], "success", "1-a", callback_token(instance, file["_id"])) == 204
    assert call_back(file["_id"], "success", "1-a", callback_token(instance, "another")) == 401
    assert call_back(file["_id"], "success", "1-a", "wrong") == 401


def test_a_token_can_be_required(runtime: Runtime, instance: Instance, file: Document) -> None:
    config = runtime.config.model_copy(
        update={"index_status": runtime.config.index_status.model_copy(update={"require_token": True})}
    )
    app = create_app(Runtime(config), CeleryQueue(create_celery(config))).test_client()
    body = {
        "partition": instance.domain,
        "file_id": file["_id"],
        "status": "success",
        "metadata": {"doc_rev": "1-a"},
    }
    url = f"http://{instance.domain}/ai/index/status"
    assert app.post(url, json=body).status_code == 401
    headers = {"Authorization": f"Bearer {callback_token(instance, file['_id'])}"}
    assert app.post(url, json=body, headers=headers).status_code == 204


def test_a_status_that_cannot_be_saved_is_500(runtime: Runtime, instance: Instance, file: Document) -> None:
    away = runtime.config.model_copy(
        update={"couchdb": runtime.config.couchdb.model_copy(update={"url": "http://127.0.0.1:1/"})}
    )
    broken = Runtime(away)
    broken.__dict__["instances"] = runtime.instances
    app = create_app(broken, CeleryQueue(create_celery(away))).test_client()
    body = {"partition": instance.domain, "file_id": "f", "status": "success", "metadata": {"doc_rev": "1-a"}}
    assert app.post(f"http://{instance.domain}/ai/index/status", json=body).status_code == 500


def test_a_callback_that_is_too_large_is_not_parsed(client: Client) -> None:
    body = b'{"metadata": [' + b"1," * LARGEST_CALLBACK + b"1]}"
    assert client.request("POST", "/ai/index/status", data=body).status_code == 413
    assert client.request("POST", "/ai/index/status", data=iter([body])).status_code == 413
