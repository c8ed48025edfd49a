"""Every route, with whatever its description allows and with what it does not: no 500, no hang, no surprise."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.openapi import described
from ragcore import loopback
from ragcore.documents import ASSISTANTS, ROOT_ID
from ragcore.instances import Instance
from ragcore.memories import Memories
from ragcore.runtime import Runtime
from tests.integration.doors.routes import JOB, TRIGGER
from tests.support.api import Client
from tests.support.chaos import WHOLE, times
from tests.support.files import new_instance

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ANSWERS_WITHIN = 20.0  # seconds, and of a stream between two pieces: a comment comes every 15
EVERYTHING = "io.cozy.*"

schema = schemathesis.openapi.from_dict(described())
schema.config.phases.coverage.enabled = WHOLE  # each bound of each field: many cases


@pytest.fixture(scope="module")
def instance(runtime: Runtime) -> Instance:
    """One for all: whatever is broken in it shows."""
    return new_instance(runtime)


@pytest.fixture(scope="module")
def client(runtime: Runtime, instance: Instance) -> Client:
    return Client(runtime.config.public_url(instance.domain), instance, EVERYTHING)


@pytest.fixture(scope="module")
def known(client: Client, runtime: Runtime) -> dict[str, Any]:
    """Ids of what is there, as long as no route has removed it."""

    def made(path: str, body: Any) -> str:
        return client.request("POST", path, json=body).json()["data"]["id"]

    client.request("PUT", f"/data/{ASSISTANTS}/d1", json={"name": "A"})
    memories = Memories(runtime.store, runtime.config, client.instance)
    return {
        "conversation_id": "c1",
        "doctype": ASSISTANTS,
        "doc_id": "d1",
        "file_id": ROOT_ID,
        "job_id": made("/jobs/queue/rag-index", JOB),
        "memory_id": memories.remember("Ada lives in Oslo.", 0.9, {}, asked=True).id,
        "path": "main.js",
        "trigger_id": made("/jobs/triggers", TRIGGER),
        "worker": "rag-index",
    }


@pytest.mark.timeout(times(120, 1200))
@schema.parametrize()
@settings(max_examples=times(4, 100), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_route(case: Case, client: Client, known: dict[str, Any]) -> None:
    """Each case as it comes, and then with the ids of what is there."""
    check(case, client)
    if case.path_parameters:
        case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
        check(case, client)


def check(case: Case, client: Client) -> None:
    headers = {"Authorization": f"Bearer {client.token}"}
    response = case.call(client.base_url, loopback.session(), headers, timeout=ANSWERS_WITHIN)
    case.validate_response(response, CHECKS, headers=headers)
