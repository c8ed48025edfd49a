"""GET /openapi.json: the routes of clients as an OpenAPI document, `openapi.yaml`."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from flask import Blueprint, Response

blueprint = Blueprint("openapi", __name__)


@blueprint.get("/openapi.json")
def openapi() -> Response:
    """200, on every host: it holds nothing of an instance."""
    return Response(_written(), content_type="application/json")


def described() -> Any:
    """The document as JSON has it: without the answers that stand apart only to be named in it."""
    return json.loads(_written())


@cache
def _written() -> str:
    document = yaml.safe_load(files("api").joinpath("openapi.yaml").read_text("utf-8"))
    del document["x-answers"]
    return f"{json.dumps(document)}\n"
