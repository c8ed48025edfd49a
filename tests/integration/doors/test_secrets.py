"""No key, token or password is left behind in logs, events and jobs; the whole run is looked at when it ends."""

from pathlib import Path

import pytest

from deploy.local.layout import API_KEY
from deploy.local.stack import Stack
from ragcore.documents import FILES
from ragcore.events import Event
from ragcore.instances import Instance
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.keys import Keys
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.secrets import leaks
from tests.support.vault import DATABASE_PASSWORD


def test_a_token_in_a_url_is_not_logged(client: Client, runtime: Runtime, stack: Stack) -> None:
    response = client.raw("GET", "/files/unknown")
    assert response.status_code == 404
    assert client.token not in "".join(path.read_text() for path in (stack.data / "logs").glob("*.log"))


@pytest.mark.parametrize(
    "kind", ["the server's key", "the database's password", "a token", "a key of the instance", "an API key"]
)
def test_what_leaks_is_found(runtime: Runtime, instance: Instance, tmp_path: Path, kind: str) -> None:
    document = runtime.instances.document(instance.domain)
    token = create_token(instance, "cli", "x", "io.cozy.*")
    secret = {
        "the server's key": API_KEY,
        "the database's password": DATABASE_PASSWORD,
        "a token": token,
        "a key of the instance": document["oauth_secret"],
        "an API key": Keys(runtime.store, instance).add()[1],
    }[kind]
    (tmp_path / "api.log").write_text(f"GET /x?bearer_token={secret} 200")
    job = runtime.store.save(instance, JOBS, {"error": f"openRAG said {secret}"})
    event = Event("UPDATED", FILES, "f", {"name": secret})
    runtime.publisher.publish(instance.domain, event)
    runtime.publisher.flush()
    found = leaks(runtime, tmp_path)
    assert {"api.log", "Redis", f"{JOBS} of {instance.domain}"} <= {place.partition(":")[0] for place in found}
    assert secret not in "".join(found)
    runtime.store.delete(instance, JOBS, job)
    for key in runtime.redis.scan_iter(f"*{instance.domain}*"):
        runtime.redis.delete(key)
