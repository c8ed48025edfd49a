"""The routes of jobs."""

from collections.abc import Callable
from typing import Any

import pytest

from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.files import Drive

FEED = {"doctype": "io.cozy.files"}


@pytest.fixture
def jobs(runtime: Runtime, instance: Instance) -> Callable[..., Client]:
    return lambda scope="io.cozy.jobs": Client(runtime.config.public_url(instance.domain), instance, scope)


def body(message: Any) -> dict[str, Any]:
    return {"data": {"attributes": {"arguments": message}}}


@pytest.mark.parametrize("scope", ["io.cozy.jobs", "io.cozy.jobs:POST,GET:rag-index:worker"])
def test_a_job_is_pushed_and_shown(jobs: Callable[..., Client], until: Callable, scope: str) -> None:
    response = jobs(scope).request("POST", "/jobs/queue/rag-index", json=body(FEED))
    assert response.status_code == 202
    data = response.json()["data"]
    assert data["type"] == "io.cozy.jobs"
    assert data["attributes"]["worker"] == "rag-index"
    assert data["attributes"]["arguments"] == FEED

    def done() -> dict[str, Any] | None:
        attributes: dict[str, Any] = jobs().request("GET", f"/jobs/{data['id']}").json()["data"]["attributes"]
        return attributes if attributes["state"] == "done" else None

    shown = until(done)
    assert shown["finished_at"] >= shown["started_at"] >= shown["queued_at"]
    assert jobs(scope).request("GET", "/jobs/queue/rag-index").json() == {"data": []}


def test_a_folder_is_walked(jobs: Callable[..., Client], runtime: Runtime, instance: Instance) -> None:
    folder = Drive(runtime, instance).folder("/Papers")
    message = FEED | {"reconcile_dir_id": folder.id}
    response = jobs().request("POST", "/jobs/queue/rag-index", json=body(message))
    assert response.json()["data"]["attributes"]["arguments"] == message


@pytest.mark.parametrize("sent", [{}, [], {"data": 1}, body(None), body({"doctype": "io.cozy.mails"}), body([FEED])])
def test_what_is_no_message(jobs: Callable[..., Client], sent: Any) -> None:
    response = jobs().request("POST", "/jobs/queue/rag-index", json=sent)
    assert response.status_code == 400
    assert response.json()["errors"][0]["source"]["pointer"].startswith("/data/attributes/arguments")


@pytest.mark.parametrize(
    ("scope", "method", "path", "status"),
    [
        ("io.cozy.files", "POST", "/jobs/queue/rag-index", 403),
        ("io.cozy.jobs:GET", "POST", "/jobs/queue/rag-index", 403),
        ("io.cozy.jobs:POST:other:worker", "POST", "/jobs/queue/rag-index", 403),
        ("io.cozy.jobs", "POST", "/jobs/queue/rag-query", 403),
        ("io.cozy.jobs", "POST", "/jobs/queue/other", 404),
        ("io.cozy.jobs:POST", "GET", "/jobs/queue/rag-index", 403),
        ("io.cozy.jobs", "GET", "/jobs/unknown", 404),
        ("io.cozy.jobs:GET:another", "GET", "/jobs/unknown", 403),
    ],
)
def test_who_may_not(jobs: Callable[..., Client], scope: str, method: str, path: str, status: int) -> None:
    assert jobs(scope).request(method, path, json=body(FEED)).status_code == status
