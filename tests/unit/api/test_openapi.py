"""The OpenAPI document says what the app does: its routes, and the rights that the tests of the doors ask for."""

import re
import tomllib
from pathlib import Path

import schemathesis

from api.openapi import described
from ragcore.documents import ASSISTANTS
from tests.integration.doors.routes import DOORS, OPEN
from tests.unit.api.test_app import app

METHODS = {"get", "put", "post", "delete", "patch"}
OPERATIONS = {
    (method.upper(), path): operation
    for path, item in described()["paths"].items()
    for method, operation in item.items()
    if method in METHODS
}
NOWHERE = "data.nowhere"  # always a 404


def unnamed(path: str) -> str:
    """A path of the document, or a rule of Flask, without the names of its variables."""
    return re.sub(r"<[^>]*>|{[^}]*}", "{}", path)


def test_every_route_is_described_and_nothing_else() -> None:
    rules = [rule for rule in app().url_map.iter_rules() if rule.endpoint != NOWHERE]
    served = [
        (method, unnamed(rule.rule)) for rule in rules for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    ]
    assert sorted((method, unnamed(path)) for method, path in OPERATIONS) == sorted(served)


def test_the_rights_are_those_that_the_doors_ask_for() -> None:
    asked = {(door.method, unnamed(door.rule)): sorted(map(":".join, door.rights)) for door in DOORS}
    for (method, path), operation in OPERATIONS.items():
        (*_, security) = operation["security"] or [{"token": []}]
        named = sorted(right.replace("{doctype}", ASSISTANTS) for right in security["token"])
        assert named == asked.get((method, unnamed(path)), []), path
        assert named or (method, unnamed(path)) in {(method, unnamed(rule)) for method, rule in OPEN}


def test_it_is_a_valid_document() -> None:
    schemathesis.openapi.from_dict(described()).validate()


def test_it_is_of_this_version() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    assert described()["info"]["version"] == project["version"]


def test_it_is_served_to_anybody() -> None:
    response = app().test_client().get("/openapi.json")
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert response.json == described()
