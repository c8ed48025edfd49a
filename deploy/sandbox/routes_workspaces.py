"""Workspaces and memberships."""

import re
import sqlite3
from typing import Any

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from deploy.sandbox.context import json_object, sandbox
from deploy.sandbox.errors import Invalid

blueprint = Blueprint("workspaces", __name__, url_prefix="/partition/<partition>")

WORKSPACE_ID = re.compile(r"[A-Za-z0-9_-]+")


@blueprint.before_request
def _check_partition() -> None:
    sandbox().partitions.require((request.view_args or {})["partition"])


@blueprint.get("/workspaces")
def list_workspaces(partition: str) -> ResponseReturnValue:
    return {"workspaces": [_shape(row) for row in sandbox().workspaces.all(partition)]}


@blueprint.post("/workspaces")
def create(partition: str) -> ResponseReturnValue:
    body = json_object(request)
    workspace_id = body.get("workspace_id")
    if not isinstance(workspace_id, str) or not WORKSPACE_ID.fullmatch(workspace_id):
        raise Invalid(("body", "workspace_id"), f"String should match pattern '^{WORKSPACE_ID.pattern}$'")
    sandbox().workspaces.create(partition, workspace_id, body.get("display_name"))
    return {"status": "created", "workspace_id": workspace_id}, 201


@blueprint.get("/workspaces/<workspace_id>")
def get(partition: str, workspace_id: str) -> ResponseReturnValue:
    return _shape(sandbox().workspaces.get(partition, workspace_id))


@blueprint.delete("/workspaces/<workspace_id>")
def delete(partition: str, workspace_id: str) -> ResponseReturnValue:
    keep_files = request.args.get("keep_files", "").lower() in ("true", "1", "yes", "on")
    removed = sandbox().workspaces.delete(partition, workspace_id, keep_files)
    return {
        "status": "deleted",
        "orphaned_files_deleted": removed.deleted,
        "orphaned_files_failed": [],
        "kept_files": removed.kept,
    }


@blueprint.get("/workspaces/<workspace_id>/files")
def list_files(partition: str, workspace_id: str) -> ResponseReturnValue:
    return {"file_ids": sandbox().workspaces.files(partition, workspace_id)}


@blueprint.post("/workspaces/<workspace_id>/files")
def add_files(partition: str, workspace_id: str) -> ResponseReturnValue:
    file_ids = json_object(request).get("file_ids")
    if not isinstance(file_ids, list) or not all(isinstance(file_id, str) for file_id in file_ids):
        raise Invalid(("body", "file_ids"), "Input should be a list of strings")
    sandbox().workspaces.add_files(partition, workspace_id, file_ids)
    return {"status": "added", "file_ids": file_ids}


@blueprint.delete("/workspaces/<workspace_id>/files/<file_id>")
def remove_file(partition: str, workspace_id: str, file_id: str) -> ResponseReturnValue:
    sandbox().workspaces.remove_file(partition, workspace_id, file_id)
    return {"status": "removed"}


@blueprint.get("/files/<file_id>/workspaces")
def list_of_file(partition: str, file_id: str) -> ResponseReturnValue:
    return {"file_id": file_id, "workspace_ids": sandbox().workspaces.of_file(partition, file_id)}


def _shape(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "workspace_id": row["workspace_id"],
        "display_name": row["display_name"],
        "partition_name": row["partition"],
        "created_at": row["created_at"],
    }
