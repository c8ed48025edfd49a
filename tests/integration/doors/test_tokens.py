"""Every route, with every token that must not open it."""

import base64
import json
import re
import time
from typing import Any

import jwt
import pytest
import requests

from api.app import create_app
from ragcore.instances import Instance
from ragcore.keys import Keys
from ragcore.permissions import VERBS, create_token
from ragcore.runtime import Runtime
from tests.integration.doors.routes import DOORS, OPEN, Door
from tests.support.api import Client
from tests.support.queue import Recorded
from tests.support.secrets import JWT

EVERYTHING = "io.cozy.*"


def test_every_route_has_its_door(runtime: Runtime) -> None:
    rules = create_app(runtime, Recorded()).url_map.iter_rules()
    served = {(method, rule.rule) for rule in rules for method in rule.methods - {"HEAD", "OPTIONS"}}
    assert served == {(door.method, door.rule) for door in DOORS} | set(OPEN)


def wrong_tokens(runtime: Runtime, instance: Instance, other: Instance) -> dict[str, str]:
    def token(key: bytes = instance.secrets["oauth"], algorithm: str = "HS512", **claims: Any) -> str:
        fine = {"aud": "access", "iss": instance.domain, "iat": int(time.time()), "sub": "x", "scope": EVERYTHING}
        return jwt.encode(fine | claims, key, algorithm=algorithm)

    unsigned = ".".join(_part(part) for part in ({"alg": "none", "typ": "JWT"}, _claims(token())))
    ours, key = Keys(runtime.store, instance).add(EVERYTHING)
    removed, gone = Keys(runtime.store, instance).add(EVERYTHING)
    Keys(runtime.store, instance).remove(removed.id)
    return {
        "none": "",
        "no token": "hello",
        "another key": token(b"k" * 64),
        "the key of another audience": token(instance.secrets["cli"]),
        "unsigned": f"{unsigned}.",
        "unsigned, with a signature": f"{unsigned}.{token().rpartition('.')[2]}",
        "expired": token(iat=int(time.time()) - 8 * 86400),
        "of tomorrow": token(iat=int(time.time()) + 86400),
        "without a time": token(iat=None),
        "of no number": token(iat=float("nan")),
        "another audience": token(aud="registration"),
        "several audiences": token(aud=["access", "cli"]),
        "another's, with their key": create_token(other, "access", "x", EVERYTHING),
        "another's, with our key": token(iss=other.domain),
        "ours, with their key": token(other.secrets["oauth"]),
        "the key of others": Keys(runtime.store, other).add(EVERYTHING)[1],
        "a removed key": gone,
        "the key of nobody": key.replace(ours.id, "0" * 16),
        "the id of a key": key.replace(key[-64:], "0" * 64),
        "the begin of a key": key[:-1],
        "changed": _changed(token(scope="io.cozy.nothing")),
    }


def _claims(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return claims


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _changed(token: str) -> str:
    """The same signature, under more rights."""
    head, _, signature = token.split(".")
    return f"{head}.{_part(_claims(token) | {'scope': EVERYTHING})}.{signature}"


@pytest.fixture(scope="module")
def instance(runtime: Runtime) -> Instance:
    """One for all: no wrong token changes it."""
    return runtime.instances.add(f"doors{time.time_ns()}.localhost")


@pytest.fixture(scope="module")
def other(runtime: Runtime) -> Instance:
    return runtime.instances.add(f"other{time.time_ns()}.localhost")


@pytest.fixture(scope="module")
def wrong(runtime: Runtime, instance: Instance, other: Instance) -> dict[str, str]:
    return wrong_tokens(runtime, instance, other)


def asked(client: Client, door: Door, token: str) -> requests.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return client.request(door.method, door.path, json=door.body, headers=headers)


def told(response: requests.Response, token: str) -> bool:
    """Whether an error holds a token: the one that it was asked with, or any."""
    said = f"{response.headers} {response.text}"
    return bool(re.search(JWT, said)) or (len(token) > len("no token") and token in said)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_only_a_token_of_the_instance_opens(client: Client, wrong: dict[str, str], door: Door) -> None:
    for kind, token in wrong.items():
        response = asked(client, door, token)
        assert response.status_code == 401, (kind, response.text)
        assert not told(response, token), kind
        assert response.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_only_the_right_that_is_needed_opens(client: Client, instance: Instance, door: Door) -> None:
    """Each of the needed rights is taken away, whatever else is allowed."""
    for doctype, verb in door.rights:
        others = [f"{name}:{verb_}" for name, verb_ in door.rights if (name, verb_) != (doctype, verb)]
        other_verbs = ",".join(set(VERBS) - {verb})
        for rule in (f"{doctype}:{other_verbs}", f"{doctype}:{verb}:elsewhere", f"{doctype}x", f"{doctype}.*"):
            token = create_token(instance, "access", "x", " ".join([*others, rule]))
            response = asked(client, door, token)
            assert response.status_code == 403, rule
            assert not told(response, token), rule
    exact = create_token(instance, "access", "x", " ".join(f"{doctype}:{verb}" for doctype, verb in door.rights))
    assert asked(client, door, exact).status_code not in (401, 403)


def test_the_websocket_takes_no_other_token(client: Client, wrong: dict[str, str]) -> None:
    for kind, token in wrong.items():
        with client.socket(token=token or " ") as socket:
            payload = socket.receive()["payload"]
            assert payload["status"] == "401 Unauthorized", kind
            assert payload["source"] == {"method": "AUTH"}, kind  # and not the token
