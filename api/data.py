"""The data routes of the doctypes of the AI (`contracts/cozy.md`, Requests): CouchDB's shapes, and its errors."""

import json
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.exceptions import HTTPException

from api import errors
from api.context import api, instance, json_body, permissions
from ragcore.data import PAGE, Data, check_readable, check_writable
from ragcore.errors import Invalid, NotFound, RagcoreError
from ragcore.store import Document, Rejected

blueprint = Blueprint("data", __name__, url_prefix="/data/<doctype>")

NAMES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict",
         413: "too_large", 503: "service_unavailable"}  # fmt: skip
# parameters of _all_docs, with their former names
KEYS = {"key": "key", "startkey": "startkey", "start_key": "startkey", "endkey": "endkey", "end_key": "endkey"}
FLAGS = ("include_docs", "descending", "inclusive_end")
COUNTS = ("limit", "skip")


@blueprint.get("/<path:doc_id>")
def get(doctype: str, doc_id: str) -> Response:
    """200, the document with its `_type`."""
    return _json(_typed(doctype, _readable(doctype, doc_id).get(doc_id)))


@blueprint.post("/", strict_slashes=False)
def create(doctype: str) -> Response:
    """201, the document with an id of its own."""
    return _json(_written(doctype, _writable("POST", doctype).create(_object())), 201)


@blueprint.put("/<path:doc_id>")
def put(doctype: str, doc_id: str) -> Response:
    """200, the new version of a document, or a new one with a chosen id: that needs the right to POST."""
    doc = _object()
    data = _writable("PUT" if doc.get("_rev") else "POST", doctype, doc_id)
    return _json(_written(doctype, data.put(doc_id, doc)))


@blueprint.delete("/<path:doc_id>")
def delete(doctype: str, doc_id: str) -> Response:
    """200, the revision of the deletion. `?rev=` or `If-Match` names the one that is deleted."""
    data = _writable("DELETE", doctype, doc_id)
    rev = request.args.get("rev") or request.headers.get("If-Match", "").strip('"')
    return _json({"ok": True, "id": doc_id, "rev": data.delete(doc_id, rev), "type": doctype, "deleted": True})


@blueprint.post("/_find")
def find(doctype: str) -> Response:
    """200, a page of what a Mango selector finds."""
    return _json(_readable(doctype).find(_object()))


@blueprint.post("/_index")
def define_index(doctype: str) -> Response:
    """200, a Mango index. It writes no document, so that the right to read is enough, as in a Cozy."""
    return _json(_readable(doctype).define_index(_object()))


@blueprint.route("/_all_docs", methods=["GET", "POST"])
def all_docs(doctype: str) -> Response:
    """200, CouchDB's own answer; its parameters are taken from the URL, and from the body of a POST."""
    data = _readable(doctype)
    options = {name: _value(name, text) for name, text in request.args.items()}
    if request.method == "POST":
        options |= _object()
    if (keys := options.get("keys")) is not None:
        return _json(data.docs_of(_texts(keys), bool(options.get("include_docs"))))
    return _json(data.all_docs(_range(options)))


@blueprint.get("/_normal_docs")
def normal_docs(doctype: str) -> Response:
    """200, a page of all documents."""
    data = _readable(doctype)
    skip, limit = (request.args.get(name, default, int) for name, default in (("skip", 0), ("limit", PAGE)))
    return _json(data.normal_docs(max(skip, 0), limit if limit >= 0 else PAGE, request.args.get("bookmark", "")))


@blueprint.get("/_design_docs")
def design_docs(doctype: str) -> Response:
    """200, none, whatever there are: cozy-client looks here before it makes an index with `_index`."""
    _readable(doctype)
    return _json({"total_rows": 0, "offset": 0, "rows": []})


@blueprint.route("/<path:rest>", methods=["POST", "PATCH"])
def nowhere(doctype: str, rest: str) -> Response:
    raise NotFound("there is no such route")


@blueprint.errorhandler(RagcoreError)
@blueprint.errorhandler(HTTPException)
def _error(error: RagcoreError | HTTPException) -> Response:
    """CouchDB's `error` and `reason`, which the clients look for, beside the JSON:API errors of all routes."""
    response = errors.response_to(error)
    (told,) = json.loads(response.get_data())["errors"]
    name = error.error if isinstance(error, Rejected) else NAMES.get(response.status_code, "internal_server_error")
    body = {"status": told["status"], "error": name, "reason": told["detail"], "errors": [told]}
    response.set_data(json.dumps(body))
    response.content_type = "application/json"
    return response


@blueprint.errorhandler(RecursionError)
def _too_deep(_: RecursionError) -> Response:
    return _error(Invalid("the document is nested too deeply"))


def _readable(doctype: str, *ids: str) -> Data:
    """Raises InvalidToken, Forbidden, NotFound."""
    data = _data(doctype)
    permissions().require("GET", doctype, *ids)
    check_readable(doctype)
    return data


def _writable(verb: str, doctype: str, *ids: str) -> Data:
    """Raises InvalidToken, Forbidden, NotFound."""
    data = _data(doctype)
    permissions().require(verb, doctype, *ids)
    check_writable(doctype)
    return data


def _data(doctype: str) -> Data:
    runtime = api().runtime
    return Data(runtime.store, runtime.sealer, instance(), doctype)


def _object() -> Document:
    """Raises Invalid."""
    body = json_body()
    if not isinstance(body, dict):
        raise Invalid("the body must be an object")
    return body


def _value(name: str, text: str) -> Any:
    """A parameter's value, which is JSON; clients leave the quotes of an id out."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if name in KEYS and not isinstance(value, str) else value


def _texts(keys: Any) -> list[str]:
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise Invalid("keys must be a list of texts", "/keys")
    return keys


def _range(options: dict[str, Any]) -> dict[str, str]:
    """The parameters of a range, as CouchDB reads them. Raises Invalid."""
    asked = {}
    for name, value in options.items():
        if name in KEYS and isinstance(value, str):
            asked[KEYS[name]] = json.dumps(value)
        elif name in FLAGS and isinstance(value, bool):
            asked[name] = json.dumps(value)
        elif name in COUNTS and type(value) is int and value >= 0:
            asked[name] = str(value)
        elif value is not None and name in (*KEYS, *FLAGS, *COUNTS):
            raise Invalid(f"{name} has a wrong value")
    return asked


def _written(doctype: str, doc: Document) -> Document:
    return {"ok": True, "id": doc["_id"], "rev": doc["_rev"], "type": doctype, "data": _typed(doctype, doc)}


def _typed(doctype: str, doc: Document) -> Document:
    return {**doc, "_type": doctype}


def _json(body: Document, status: int = 200) -> Response:
    return Response(f"{json.dumps(body)}\n", status, content_type="application/json")
