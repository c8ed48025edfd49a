"""The routes of files: POST /files/:dir-id, GET, PATCH and DELETE /files/:id, GET /files/download/:id (as Cozy's).

A right on a folder is one on the files and folders that are directly in it.
"""

from typing import Any

from flask import Blueprint, Response, request

from api.context import api, body_is_streamed, instance, json_body, permissions
from api.downloads import download, tagged
from api.errors import document
from ragcore.documents import FILES, ROOT_ID, File
from ragcore.errors import Invalid, Mismatch, NotFound, Unprocessable
from ragcore.files.clients import ClientFiles, Upload
from ragcore.files.edit import Editor
from ragcore.store import Document

blueprint = Blueprint("files", __name__, url_prefix="/files")


@blueprint.post("/", strict_slashes=False)
@blueprint.post("/<dir_id>")
def add(dir_id: str = ROOT_ID) -> Response:
    """201, a new file whose content is the body, or a new folder."""
    files = _files()
    permissions().require("POST", FILES, dir_id)
    name, kind = request.args.get("Name", ""), request.args.get("Type")
    if kind == "directory":
        return _shown(files.add_directory(dir_id, name), 201)
    if kind != "file":
        raise Unprocessable("Type is file or directory")
    body_is_streamed()
    return _shown(files.add_file(dir_id, _upload(name), request.stream), 201)


@blueprint.post("/_all_docs")
def of_ids() -> Response:
    """200, those of the ids in `keys` that are there: so a page asks for the sources that it shows."""
    files = _files()
    permissions().require("GET", FILES)
    body = json_body()
    keys = body.get("keys") if isinstance(body, dict) else None
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise Invalid("keys must be a list of texts", "/keys")
    return document({"data": [_resource(doc) for doc in files.get_many(keys)]}, 200)


@blueprint.get("/<file_id>")
def get(file_id: str) -> Response:
    """200, what is known of a file or a folder."""
    return _shown(_allowed("GET", file_id))


@blueprint.get("/download/<file_id>")
def content(file_id: str) -> Response:
    """200, the content of a file, or 304 for who has it."""
    doc = _allowed("GET", file_id)
    if doc["type"] != "file":
        raise NotFound("a folder has no content")
    file = File.from_document(doc)
    if file.md5sum and request.if_none_match.contains_weak(file.md5sum):
        return tagged(Response(status=304), file)
    return download(file, _files().open(doc))


@blueprint.patch("/<file_id>")
def change(file_id: str) -> Response:
    """200, with another `name`, or in another folder (`dir_id`)."""
    doc = _allowed("PATCH", file_id)
    attributes = _attributes(json_body())
    name, dir_id = (attributes.get(field, doc[field]) for field in ("name", "dir_id"))
    if dir_id != doc["dir_id"]:
        permissions().require("PATCH", FILES, dir_id)
    return _shown(_files().move(doc, name, dir_id))


@blueprint.delete("/<file_id>")
def trash(file_id: str) -> Response:
    """200, a file or a folder in the trash."""
    return _shown(_files().trash(_allowed("DELETE", file_id)))


def _files() -> ClientFiles:
    runtime = api().runtime
    return ClientFiles(Editor(runtime.store, runtime.storage, instance()), runtime.redis)


def _allowed(verb: str, file_id: str) -> Document:
    """The document, at the revision that the client knows. Raises Forbidden, NotFound, Mismatch."""
    files, rights = _files(), permissions()
    try:
        doc = files.get(file_id)
    except NotFound:
        rights.require(verb, FILES, file_id)
        raise
    rights.require(verb, FILES, file_id, doc["dir_id"])
    known = request.headers.get("If-Match", "").strip('"')
    if known and known != doc["_rev"]:
        raise Mismatch("the file is at another revision")
    return doc


def _upload(name: str) -> Upload:
    asked = request.args
    return Upload(
        name,
        mime=request.mimetype,
        size=request.content_length,
        md5sum=request.headers.get("Content-MD5", "").strip(),
        created_at=asked.get("CreatedAt", ""),
        updated_at=asked.get("UpdatedAt", ""),
        executable=asked.get("Executable") == "true",
        encrypted=asked.get("Encrypted") == "true",
        tags=[tag for tag in asked.get("Tags", "").split(",") if tag],
    )


def _attributes(body: Any) -> dict[str, str]:
    """The attributes of a JSON:API document that can be changed. Raises Invalid, Unprocessable."""
    try:
        attributes = body["data"]["attributes"]
        changed = {field: attributes[field] for field in ("name", "dir_id") if attributes.get(field) is not None}
    except (KeyError, TypeError, AttributeError):
        raise Invalid('the body is {"data": {"attributes": {...}}}', "/data/attributes") from None
    for field, value in changed.items():
        if not isinstance(value, str):
            raise Unprocessable(f"{field} must be a text", f"/data/attributes/{field}")
    return changed


def _shown(doc: Document, status: int = 200) -> Response:
    return document({"data": _resource(doc)}, status)


def _resource(doc: Document) -> Document:
    attributes = {key: value for key, value in doc.items() if not key.startswith("_")}
    data: Document = {"type": FILES, "id": doc["_id"], "rev": doc["_rev"], "meta": {"rev": doc["_rev"]}}
    data |= {"attributes": attributes, "links": {"self": f"/files/{doc['_id']}"}}
    if parent := doc.get("dir_id"):
        related = {"links": {"related": f"/files/{parent}"}, "data": {"type": FILES, "id": parent}}
        data["relationships"] = {"parent": related}
    return data
