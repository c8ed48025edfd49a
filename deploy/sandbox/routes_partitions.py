"""Partitions, and the files listed in them."""

from urllib.parse import quote

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from deploy.sandbox.context import sandbox
from deploy.sandbox.errors import Invalid

blueprint = Blueprint("partitions", __name__)


def link_to_file(partition: str, file_id: str) -> str:
    return f"{request.host_url}partition/{quote(partition, safe='')}/file/{quote(file_id, safe='')}"


def count(name: str, default: int | None) -> int | None:
    """A whole number of the query string; raises a 422."""
    value = request.args.get(name)
    if value is None:
        return default
    if not value.isdecimal():
        raise Invalid(("query", name), "Input should be a valid integer", "int_parsing")
    return int(value)


@blueprint.post("/partition/<partition>")
def create(partition: str) -> ResponseReturnValue:
    sandbox().partitions.create(partition)
    return {"message": f"Partition '{partition}' created"}, 201


@blueprint.delete("/partition/<partition>")
def delete(partition: str) -> ResponseReturnValue:
    sandbox().partitions.delete(partition)
    return "", 204


@blueprint.get("/partition/<partition>")
def list_redirected(partition: str) -> ResponseReturnValue:
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    return redirect(url_for(".list_files", partition=partition) + query, code=307)


@blueprint.get("/partition/<partition>/")
def list_files(partition: str) -> ResponseReturnValue:
    rows = sandbox().partitions.files(partition, count("limit", None))
    files = [{"link": link_to_file(partition, row["file_id"])} for row in rows]
    if not sandbox().settings.legacy:
        for file, row in zip(files, rows, strict=True):
            file |= {"file_id": row["file_id"], "filename": row["filename"]}
    return {"files": files}
