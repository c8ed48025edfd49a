"""Which instance a request is of, and whom a proxy speaks for."""

import ipaddress
import uuid
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from api import admin
from api.app import create_app
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.support.files import new_instance
from tests.support.queue import Recorded

PROXY, OTHER = "10.0.0.1", "10.0.0.2"
PATH = "/data/io.cozy.ai.chat.assistants/_normal_docs"


@pytest.fixture(scope="module")
def instance(runtime: Runtime) -> Instance:
    return new_instance(runtime)


@pytest.fixture
def other(runtime: Runtime) -> Instance:
    return runtime.instances.add(f"o{uuid.uuid4().hex[:12]}.localhost")


@pytest.fixture
def behind_proxy(runtime: Runtime) -> Runtime:
    trusted = [ipaddress.ip_network(f"{PROXY}/32"), ipaddress.ip_network("::1/128")]
    return Runtime(runtime.config.model_copy(update={"trusted_proxies": trusted}))


@pytest.fixture
def app(behind_proxy: Runtime) -> FlaskClient:
    return create_app(behind_proxy, Recorded()).test_client()


def status(app: FlaskClient, of: Instance, address: str, **headers: str) -> int:
    """Of a request with the token of an instance."""
    token = create_token(of, "access", "x", "io.cozy.*")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"Authorization": f"Bearer {token}"} | named
    return app.get(PATH, headers=sent, environ_base={"REMOTE_ADDR": address}).status_code


def test_a_host_is_believed_from_a_configured_proxy_alone(
    app: FlaskClient, instance: Instance, other: Instance
) -> None:
    ours, theirs = {"Host": instance.domain}, {"X_Forwarded_Host": other.domain}
    assert status(app, instance, OTHER, **ours) == 200
    assert status(app, instance, OTHER, **ours, **theirs) == 200
    assert status(app, other, OTHER, **ours, **theirs) == 401
    assert status(app, other, PROXY, **ours, **theirs) == 200
    assert status(app, other, f"::ffff:{PROXY}", **ours, **theirs) == 200
    assert status(app, instance, PROXY, **ours, **theirs) == 401
    assert status(app, instance, PROXY, **ours) == 200


def test_without_proxies_nothing_is_believed(runtime: Runtime, instance: Instance, other: Instance) -> None:
    app = create_app(runtime, Recorded()).test_client()
    for address in (PROXY, "127.0.0.1", "::1", ""):
        assert status(app, other, address, Host=instance.domain, X_Forwarded_Host=other.domain) == 401
        assert status(app, other, address, Host=instance.domain, Forwarded=f"host={other.domain}") == 401


@pytest.mark.parametrize(
    "spoofed",
    [
        lambda domain: f"{domain}@evil.example",
        lambda domain: f"evil.example/{domain}",
        lambda domain: f"{domain}, evil.example",
        lambda domain: f"{domain}:99:99",
        lambda domain: f"{domain}.",
        lambda domain: f"x.{domain}",
        lambda domain: f"{domain}\t",
        lambda domain: domain.replace(".", "。"),
        lambda domain: f"{domain}%00",
        lambda domain: "",
    ],
)
def test_no_other_spelling_is_the_instance(app: FlaskClient, instance: Instance, spoofed: Callable[[str], str]) -> None:
    host = spoofed(instance.domain).encode().decode("latin-1")
    assert status(app, instance, OTHER, Host=host) in (400, 404)


@pytest.mark.parametrize(
    ("address", "forwarded", "allowed"),
    [
        ("127.0.0.1", "", True),
        ("::1", "", True),
        (OTHER, "127.0.0.1", False),  # whoever says so
        (PROXY, "127.0.0.1", True),
        (PROXY, "203.0.113.9", False),
        (PROXY, "127.0.0.1, 203.0.113.9", False),  # the last one is the proxy's own word
        (PROXY, "nonsense", False),
        ("::1", "203.0.113.9", False),
    ],
)
def test_operators_are_on_the_loopback_behind_a_proxy_too(
    behind_proxy: Runtime, instance: Instance, address: str, forwarded: str, allowed: bool
) -> None:
    app = admin.create_app(behind_proxy, Recorded()).test_client()
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    path = f"/instances/{instance.domain}/rag/reset"
    response = app.post(path, headers=headers, environ_base={"REMOTE_ADDR": address})
    assert response.status_code == (202 if allowed else 403), response.text
