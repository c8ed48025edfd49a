"""The operators' API, on the admin port."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
import requests
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api import admin
from deploy.local.stack import Stack
from ragcore.instances import Instance
from ragcore.jobs import WalkJob
from ragcore.runtime import Runtime
from ragcore.turns import take_turn
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.support.api import Client
from tests.support.files import Drive
from tests.support.sandbox import Sandbox
from tests.support.vault import PASSPHRASE

OPERATIONS = ("reset", "reconcile", "prune", "purge")
LOOPBACK, ELSEWHERE = "127.0.0.1", "192.0.2.7"

Post = Callable[..., requests.Response]


@pytest.fixture
def work(runtime: Runtime) -> Work:
    return Work(runtime, CeleryQueue(create_app(runtime.config)))


@pytest.fixture
def post(stack: Stack, instance: Instance) -> Post:
    """Asks for an operation on the admin port of the stack, which has no passphrase."""

    def send(operation: str, domain: str = instance.domain, **more: Any) -> requests.Response:
        url = f"{stack.url('admin')}/instances/{domain}/rag/{operation}"
        return requests.post(url, timeout=30, **more)

    return send


@pytest.fixture
def app(runtime: Runtime) -> Callable[..., FlaskClient]:
    """The API in this process, with a passphrase or without."""

    def make(passphrase: str = "") -> FlaskClient:
        config = runtime.config.model_copy(
            update={"admin": runtime.config.admin.model_validate({"passphrase": passphrase})}
        )
        return admin.create_app(Runtime(config), CeleryQueue(create_app(config))).test_client()

    return make


@pytest.fixture
def folder(runtime: Runtime, instance: Instance) -> str:
    """The id of a folder that an assistant uses."""
    drive = Drive(runtime, instance)
    made = drive.folder("/Papers")
    drive.assistant(made)
    return made.id


def basic(password: str, user: str = "anybody") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def check_error(response: requests.Response | TestResponse, status: int) -> dict[str, Any]:
    """A JSON:API error that says what is wrong and gives nothing away."""
    assert response.status_code == status
    assert response.headers["Content-Type"].startswith("application/vnd.api+json")
    text = response.text
    assert not any(word in text for word in ("Traceback", 'File "', "password", PASSPHRASE, "key-of-the-stand-in"))
    (error,) = response.json()["errors"] if isinstance(response, requests.Response) else response.get_json()["errors"]
    assert error["status"] == str(status)
    assert error["detail"]
    found: dict[str, Any] = error
    return found


# Who may ask


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "authorization",
    [None, "", "Basic", "Basic !!!", "Basic /////w==", basic(""), basic("wrong"), basic(PASSPHRASE + " "),
     basic("x", PASSPHRASE), f"Bearer {PASSPHRASE}", "Bearer x", f'Digest username="a", password="{PASSPHRASE}"'],
)  # fmt: skip
def test_a_passphrase_is_asked_for(
    app: Callable[..., FlaskClient], work: Work, instance: Instance, operation: str, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.encode().decode("latin-1")}
    response = app(PASSPHRASE).post(
        f"/instances/{instance.domain}/rag/{operation}", headers=headers, environ_base={"REMOTE_ADDR": LOOPBACK}
    )
    check_error(response, 401)
    assert response.headers["WWW-Authenticate"].startswith("Basic ")
    assert [owed for owed in work.ledger.all() if owed.domain == instance.domain] == []


def test_the_passphrase_is_taken_from_a_basic_header_alone(app: Callable[..., FlaskClient], instance: Instance) -> None:
    headers = {"Authorization": 'Digest username="a", password="plain"'}
    check_error(app("plain").post(f"/instances/{instance.domain}/rag/reset", headers=headers), 401)


@pytest.mark.parametrize("address", [LOOPBACK, ELSEWHERE])
@pytest.mark.parametrize("user", ["", "admin", "é"])
def test_with_the_passphrase_anybody_may_ask_from_anywhere(
    app: Callable[..., FlaskClient], instance: Instance, address: str, user: str
) -> None:
    headers = {"Authorization": basic(PASSPHRASE, user)}
    environ = {"REMOTE_ADDR": address}
    response = app(PASSPHRASE).post(f"/instances/{instance.domain}/rag/reset", headers=headers, environ_base=environ)
    assert response.status_code == 202


@pytest.mark.parametrize(
    ("address", "status"),
    [(LOOPBACK, 202), ("127.8.9.1", 202), ("::1", 202), ("::ffff:127.0.0.1", 202), (ELSEWHERE, 403), ("10.0.0.1", 403),
     ("::ffff:10.0.0.1", 403), ("2001:db8::1", 403), ("fe80::1%eth0", 403), ("", 403)],
)  # fmt: skip
def test_without_a_passphrase_the_loopback_alone_may_ask(
    app: Callable[..., FlaskClient], instance: Instance, address: str, status: int
) -> None:
    headers = {"X-Forwarded-For": LOOPBACK, "Forwarded": f"for={LOOPBACK}", "Authorization": basic("")}
    environ = {"REMOTE_ADDR": address}
    response = app().post(f"/instances/{instance.domain}/rag/reset", headers=headers, environ_base=environ)
    assert response.status_code == status
    if status == 403:
        assert "admin.passphrase" in check_error(response, 403)["detail"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1"])
def test_a_web_page_may_not_ask(
    app: Callable[..., FlaskClient], post: Post, work: Work, instance: Instance, origin: str
) -> None:
    check_error(post("purge", headers={"Origin": origin}), 403)
    headers = {"Origin": origin, "Authorization": basic(PASSPHRASE)}
    check_error(app(PASSPHRASE).post(f"/instances/{instance.domain}/rag/purge", headers=headers), 403)
    assert [owed for owed in work.ledger.all() if owed.domain == instance.domain] == []


def test_each_port_has_its_own_api(stack: Stack, client: Client, instance: Instance) -> None:
    for operation in OPERATIONS:
        host = {"Host": stack.url("admin").removeprefix("http://")}
        response = client.request("POST", f"/instances/{instance.domain}/rag/{operation}")
        check_error(response, 404)
        assert client.request("POST", f"/instances/{instance.domain}/rag/{operation}", headers=host).status_code == 404
    host = {"Host": client.base_url.removeprefix("http://")}
    headers = {"Authorization": f"Bearer {client.token}", **host}
    response = requests.post(
        f"{stack.url('admin')}/ai/chat/conversations/c", json={"q": "x"}, headers=headers, timeout=30
    )
    check_error(response, 404)


# What is asked


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "domain",
    ["nobody.localhost", "..", "%00", "a%2Fb", "%2e%2e", "%ff", "%F0%9F%8D%8F", "x" * 3000, "_all_docs", "*", "%20"],
)
def test_an_unknown_domain(post: Post, operation: str, domain: str) -> None:
    check_error(post(operation, domain), 404)


@pytest.mark.parametrize("dir_id", ["unknown", "..", "\0", "a/b", "_all_docs", "é\U0001f34f", "x" * 3000, " "])
def test_a_folder_that_no_assistant_uses(post: Post, folder: str, work: Work, instance: Instance, dir_id: str) -> None:
    check_error(post("reconcile", params={"dir_id": dir_id}), 404)
    assert [owed for owed in work.ledger.all() if owed.domain == instance.domain] == []


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_a_wrong_method(stack: Stack, instance: Instance, operation: str, method: str) -> None:
    url = f"{stack.url('admin')}/instances/{instance.domain}/rag/{operation}"
    response = requests.request(method, url, timeout=30)
    assert response.status_code == 405
    assert "POST" in response.headers["Allow"]
    if method != "HEAD":
        check_error(response, 405)


@pytest.mark.parametrize("path", ["/", "/instances/a/rag", "/instances/a/rag/drop", "/instances/a/rag/prune/"])
def test_an_unknown_route(stack: Stack, path: str) -> None:
    check_error(requests.post(stack.url("admin") + path, timeout=30), 404)


@pytest.mark.parametrize(
    "sent", [{"data": b"\xff{"}, {"json": {"dir_id": 7}}, {"files": {"x": b"y"}}, {"data": b"x" * 100_000}]
)
def test_what_a_body_says_is_nothing_to_it(post: Post, sent: dict[str, Any]) -> None:
    assert post("prune", **sent).status_code == 200


# What is answered


def test_a_reset_answers_with_its_job(post: Post, work: Work, instance: Instance, until: Callable) -> None:
    response = post("reset")
    assert response.status_code == 202
    (job_id,) = response.json()["jobs"]
    assert response.json() == {"jobs": [job_id]}
    until(lambda: work.documents(instance.domain).get(job_id)["state"] == "done")


def test_a_reconcile_answers_with_a_job_for_each_folder(
    post: Post, folder: str, runtime: Runtime, work: Work, instance: Instance
) -> None:
    drive = Drive(runtime, instance)
    drive.assistant(drive.folder("/More"))
    (one,) = post("reconcile", params={"dir_id": folder}).json()["jobs"]
    message = work.documents(instance.domain).get(one)["message"]
    assert message == {"doctype": "io.cozy.files", "reconcile_dir_id": folder}
    response = post("reconcile")
    assert response.status_code == 202
    assert len(response.json()["jobs"]) == 2


def test_a_reconcile_without_folders_has_no_jobs(post: Post) -> None:
    response = post("reconcile")
    assert (response.status_code, response.json()) == (202, {"jobs": []})


def test_prune_and_purge_answer_with_their_counts(
    post: Post, folder: str, runtime: Runtime, instance: Instance, until: Callable, work: Work
) -> None:
    Drive(runtime, instance).file("/Papers/one.txt", "first")
    work.feed(instance.domain)
    openrag = runtime.openrag(instance)
    until(lambda: openrag.workspaces() and set(openrag.files(folder)))
    until(lambda: work.ledger.get(WalkJob(instance.domain, folder)) is None)
    response = post("prune")
    assert response.headers["Content-Type"] == "application/json"
    assert response.status_code == 200
    assert response.json() == {"files_scanned": 1, "files_deleted": 0, "workspaces_deleted": 0}
    response = post("purge")
    assert response.status_code == 200
    assert response.json() == {"files_scanned": 1, "files_deleted": 1, "workspaces_deleted": 1}
    assert openrag.workspaces() is None


@pytest.mark.parametrize("operation", ["prune", "purge"])
def test_one_that_waits_for_its_turn_answers_with_its_job(
    app: Callable[..., FlaskClient], work: Work, instance: Instance, monkeypatch: pytest.MonkeyPatch, until: Callable,
    stack: Stack, operation: str,
) -> None:  # fmt: skip
    """Asked for again meanwhile, it is still one job."""
    monkeypatch.setattr(admin, "WAIT", 0.3)
    turn = take_turn(work.runtime.redis, instance.domain, "another")
    try:
        response = app().post(f"/instances/{instance.domain}/rag/{operation}")
        assert response.status_code == 202
        (job_id,) = response.get_json()["jobs"]
        until(turn.is_wanted)
        again = app().post(f"/instances/{instance.domain}/rag/{operation}")
        assert again.get_json() == {"jobs": [job_id]}
        assert work.documents(instance.domain).get(job_id)["state"] == "queued"
    finally:
        work.push_again(turn.end())
    until(lambda: work.documents(instance.domain).get(job_id)["state"] == "done")
    counts = {"files_scanned": 0, "files_deleted": 0, "workspaces_deleted": 0}
    assert work.documents(instance.domain).get(job_id)["result"] == counts


@pytest.mark.parametrize("operation", ["prune", "purge"])
def test_a_failure_of_openrag_is_told_and_tried_again_by_nobody(
    post: Post, sandbox: Sandbox, instance: Instance, work: Work, operation: str
) -> None:
    sandbox.fault(route=f"^/partition/{instance.domain}/?$", method="GET", times=None, status=500, body="Traceback")
    error = check_error(post(operation), 502)
    assert "openRAG" in error["detail"]
    assert [owed for owed in work.ledger.all() if owed.domain == instance.domain] == []
    sandbox.reset()
    assert post(operation).status_code == 200


def test_what_cannot_be_enqueued_is_503(runtime: Runtime, instance: Instance, work: Work) -> None:
    """A reset is owed all the same; nothing is deleted later."""
    config = runtime.config.model_copy(
        update={"redis": runtime.config.redis.model_copy(update={"url": "redis://:password@127.0.0.1:1/0"})}
    )
    app = admin.create_app(Runtime(config), CeleryQueue(create_app(config))).test_client()
    for operation in ("prune", "purge", "reset"):
        response = app.post(f"/instances/{instance.domain}/rag/{operation}")
        check_error(response, 503)
        assert int(response.headers["Retry-After"]) > 0
    assert [owed.action for owed in work.ledger.all() if owed.domain == instance.domain] in ([], [""])


def test_without_the_document_database_it_is_503(runtime: Runtime, instance: Instance) -> None:
    url = "http://admin:password@127.0.0.1:1/"
    config = runtime.config.model_copy(update={"couchdb": runtime.config.couchdb.model_copy(update={"url": url})})
    app = admin.create_app(Runtime(config), CeleryQueue(create_app(config))).test_client()
    for operation in OPERATIONS:
        check_error(app.post(f"/instances/{instance.domain}/rag/{operation}"), 503)
