"""Files: upload, replacement, metadata, removal, and the tasks that index them."""

import hashlib
import json
from pathlib import Path
from typing import Any, cast

from flask import Blueprint, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import FileStorage

from deploy.sandbox.context import sandbox
from deploy.sandbox.errors import ApiError, Invalid
from deploy.sandbox.extract import MIMETYPES, READERS, format_of
from deploy.sandbox.files import Upload

blueprint = Blueprint("files", __name__)


@blueprint.get("/indexer/supported/types")
def supported_types() -> ResponseReturnValue:
    return {"extensions": list(READERS), "mimetypes": list(MIMETYPES)}


@blueprint.get("/indexer/task/<task_id>")
def task_status(task_id: str) -> ResponseReturnValue:
    task = sandbox().indexer.task(task_id)
    details = {"partition": task["partition"], "file_id": task["file_id"], "error": task["error"]}
    return {"task_id": task_id, "task_state": task["state"], "details": details}


@blueprint.get("/partition/<partition>/file/<file_id>")
def get(partition: str, file_id: str) -> ResponseReturnValue:
    sandbox().partitions.require(partition)
    file = sandbox().files.get(partition, file_id)
    # openRAG keeps the metadata in the chunks: a file without a chunk has none.
    metadata = {
        **file.metadata,
        "file_id": file_id,
        "partition": partition,
        "filename": file.filename,
    }
    documents = [{"link": f"{request.host_url}extract/{chunk_id}"} for chunk_id in file.chunk_ids]
    return {"metadata": metadata if documents else {}, "documents": documents}


@blueprint.post("/indexer/partition/<partition>/file/<file_id>")
def add(partition: str, file_id: str) -> ResponseReturnValue:
    upload, content = _read_upload(partition, file_id)
    return _index(sandbox().files.add(upload), content, 201)


@blueprint.put("/indexer/partition/<partition>/file/<file_id>")
def replace(partition: str, file_id: str) -> ResponseReturnValue:
    upload, content = _read_upload(partition, file_id)
    return _index(sandbox().files.replace(upload), content, 202)


@blueprint.patch("/indexer/partition/<partition>/file/<file_id>")
def merge_metadata(partition: str, file_id: str) -> ResponseReturnValue:
    sandbox().files.merge_metadata(partition, file_id, _json_field("metadata", dict, {}))
    return {"message": f"Metadata for file '{file_id}' successfully updated."}


@blueprint.delete("/indexer/partition/<partition>/file/<file_id>")
def delete(partition: str, file_id: str) -> ResponseReturnValue:
    sandbox().files.delete(partition, file_id)
    return ({"message": "deleted"}, 200) if sandbox().settings.legacy else ("", 204)


def _index(task_id: str, content: Path, status: int) -> ResponseReturnValue:
    sandbox().indexer.submit(task_id, content)
    return {"task_status_url": _task_url(task_id)}, status


def _task_url(task_id: str) -> str:
    return f"{request.host_url}indexer/task/{task_id}"


def _read_upload(partition: str, file_id: str) -> tuple[Upload, Path]:
    """The upload and where its content lies until the request ends."""
    _check_id(file_id)
    sandbox().files.refuse_during_swap(partition)
    file = request.files.get("file")
    if file is None or not file.filename:
        raise ApiError(400, "The form has no file")
    metadata = _json_field("metadata", dict, {})
    format_of(file.filename, metadata.get("mimetype"))
    content = received_file(file)
    upload = Upload(
        partition=partition,
        file_id=file_id,
        filename=file.filename,
        metadata=metadata,
        md5=_md5(content),
        workspace_ids=_workspace_ids(),
        callback_url=request.form.get("callback_url", ""),
        callback_token=request.form.get("callback_token", ""),
        tasks_url=_task_url(""),
    )
    return upload, content


def received_file(file: FileStorage) -> Path:
    """Where the content was received. Raises the 413 of a file over the limit."""
    file.stream.flush()
    path = Path(cast(str, file.stream.name))
    limit = sandbox().settings.max_file_size
    if limit is not None and path.stat().st_size > limit:
        raise ApiError(413, f"The file is over the limit of {limit} bytes", "FILE_TOO_LARGE")
    return path


def _check_id(file_id: str) -> None:
    if not file_id.strip() or not file_id.isprintable():
        raise Invalid(("path", "file_id"), "File ID must hold visible characters only")


def _workspace_ids() -> list[str] | None:
    if "workspace_ids" not in request.form:
        return None
    ids = _json_field("workspace_ids", list, [])
    if not all(isinstance(id_, str) for id_ in ids):
        raise Invalid(("body", "workspace_ids"), "Input should be a JSON array of strings")
    return cast(list[str], ids)


def _json_field(name: str, kind: type, default: Any) -> Any:
    """A form field that holds JSON of one kind; raises a 422."""
    text = request.form.get(name)
    if not text:
        return default
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Invalid(("body", name), f"Invalid JSON: {error}", "json_invalid") from error
    if not isinstance(value, kind):
        raise Invalid(("body", name), f"Input should be a JSON {kind.__name__}")
    return value


def _md5(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
