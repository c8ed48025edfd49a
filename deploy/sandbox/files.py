"""Files: admission of an upload, what is known of a file, its removal.

A file whose first task still runs is unknown to everything but another upload.
"""

import json
import sqlite3
import time
import uuid
from dataclasses import dataclass
from typing import Any

from deploy.sandbox.database import Database
from deploy.sandbox.errors import ApiError, no_file, no_workspace
from deploy.sandbox.partitions import create_if_missing
from deploy.sandbox.settings import Settings


@dataclass(frozen=True)
class Upload:
    """One POST or PUT of a file. `workspace_ids` is None when the field was not sent; `tasks_url` and the
    id of a task is the URL of its status."""

    partition: str
    file_id: str
    filename: str
    metadata: dict[str, Any]
    md5: str
    workspace_ids: list[str] | None
    callback_url: str
    callback_token: str
    tasks_url: str


@dataclass(frozen=True)
class StoredFile:
    file_id: str
    filename: str
    metadata: dict[str, Any]
    chunk_ids: list[int]


class Files:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def add(self, upload: Upload) -> str:
        """The id of the indexing task of a new file. Raises the 404, the 409s and the 429 of a POST."""
        with self._database.transaction() as connection:
            self._refuse_known(upload)
            self._refuse_missing_workspaces(upload)
            self._refuse_duplicate(upload)
            self._refuse_over_quota(upload.partition)
            create_if_missing(connection, upload.partition)
            return _register(connection, upload, upload.workspace_ids or [])

    def replace(self, upload: Upload) -> str:
        """The id of the indexing task of a new content. Raises the 404 and the 409s of a PUT."""
        with self._database.transaction() as connection:
            known = self._row(upload)
            if known is None:
                raise no_file(upload.file_id, upload.partition)
            self._refuse_duplicate(upload)
            return _register(connection, upload, self._workspaces_after_put(known, upload))

    def refuse_during_swap(self, partition: str) -> None:
        if partition in self._settings.swap:
            raise ApiError(
                409, f"Partition '{partition}' is being re-embedded, retry later", "EMBEDDER_SWAP_IN_PROGRESS"
            )

    def get(self, partition: str, file_id: str) -> StoredFile:
        row = self.get_row(partition, file_id)
        chunks = self._database.rows(
            "SELECT id FROM chunks WHERE partition = ? AND file_id = ? ORDER BY id", partition, file_id
        )
        return StoredFile(file_id, row["filename"], json.loads(row["metadata"]), [chunk["id"] for chunk in chunks])

    def merge_metadata(self, partition: str, file_id: str, changes: dict[str, Any]) -> None:
        """A `filename` in it renames the file, for its sources too."""
        with self._database.transaction() as connection:
            known = self.get_row(partition, file_id)
            metadata = json.loads(known["metadata"]) | changes
            filename = str(changes.get("filename") or known["filename"])
            connection.execute(
                "UPDATE files SET metadata = ?, filename = ? WHERE partition = ? AND file_id = ?",
                (json.dumps(metadata), filename, partition, file_id),
            )
            connection.execute(
                "UPDATE passages SET filename = ? WHERE rowid IN "
                "(SELECT id FROM chunks WHERE partition = ? AND file_id = ?)",
                (filename, partition, file_id),
            )

    def get_row(self, partition: str, file_id: str) -> sqlite3.Row:
        row = self._database.row(
            "SELECT * FROM files WHERE partition = ? AND file_id = ? AND indexed", partition, file_id
        )
        if row is None:
            raise no_file(file_id, partition)
        return row

    def delete(self, partition: str, file_id: str) -> None:
        with self._database.transaction() as connection:
            self.get_row(partition, file_id)
            connection.execute("DELETE FROM files WHERE partition = ? AND file_id = ?", (partition, file_id))

    def _row(self, upload: Upload) -> sqlite3.Row | None:
        return self._database.row(
            "SELECT * FROM files WHERE partition = ? AND file_id = ?", upload.partition, upload.file_id
        )

    def _workspaces_after_put(self, known: sqlite3.Row, upload: Upload) -> list[str] | None:
        """The workspaces that the file is to be in, None for those that it is in. An unfinished task, which
        this upload overtakes, hands on what it was to do."""
        if self._settings.put_workspaces == "drop":
            return []
        if self._settings.put_workspaces == "honour" and upload.workspace_ids is not None:
            return upload.workspace_ids
        unfinished = self._database.row(
            "SELECT workspace_ids FROM tasks WHERE id = ? AND state != 'COMPLETED'", known["task_id"]
        )
        return None if unfinished is None else json.loads(unfinished["workspace_ids"])

    def _refuse_known(self, upload: Upload) -> None:
        known = self._row(upload)
        if known is None:
            return
        if known["indexed"]:
            raise ApiError(409, f"File '{upload.file_id}' already exists in partition {upload.partition}")
        if self._settings.legacy and known["md5"] == upload.md5:
            raise _content_exists(upload.file_id)
        raise ApiError(
            409,
            f"File '{upload.file_id}' is being indexed in partition {upload.partition}",
            "DOCUMENT_INDEXING_IN_PROGRESS",
            {"existing_task_id": known["task_id"], "task_status_url": upload.tasks_url + known["task_id"]},
        )

    def _refuse_missing_workspaces(self, upload: Upload) -> None:
        for workspace_id in upload.workspace_ids or []:
            found = self._database.row(
                "SELECT 1 FROM workspaces WHERE partition = ? AND workspace_id = ?",
                upload.partition,
                workspace_id,
            )
            if found is None:
                raise no_workspace(workspace_id)

    def _refuse_duplicate(self, upload: Upload) -> None:
        other = self._database.row(
            "SELECT file_id FROM files WHERE partition = ? AND md5 = ? AND file_id != ?",
            upload.partition,
            upload.md5,
            upload.file_id,
        )
        if other is not None:
            raise _content_exists(other["file_id"])

    def _refuse_over_quota(self, partition: str) -> None:
        quota = self._settings.quota
        held = self._database.row("SELECT count(*) AS n FROM files WHERE partition = ?", partition)
        if quota is not None and held is not None and held["n"] >= quota:
            raise ApiError(429, f"Quota of {quota} files reached in partition {partition}")


def _content_exists(file_id: str) -> ApiError:
    return ApiError(
        409,
        f"The same content is already held by file '{file_id}'",
        "DOCUMENT_CONTENT_EXISTS",
        {"existing_file_id": file_id},
    )


def _register(connection: sqlite3.Connection, upload: Upload, workspace_ids: list[str] | None) -> str:
    """Makes this upload the one that counts for its file: an earlier task that still runs is overtaken."""
    task_id = uuid.uuid4().hex
    metadata = json.dumps(upload.metadata)
    file = (upload.partition, upload.file_id, upload.filename, metadata)
    connection.execute(
        "INSERT INTO files (partition, file_id, filename, metadata, md5, task_id, in_workspace_first) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET md5 = excluded.md5, task_id = excluded.task_id",
        (*file, upload.md5, task_id, bool(upload.workspace_ids)),
    )
    callback = (upload.callback_url, upload.callback_token)
    connection.execute(
        "INSERT INTO tasks (id, partition, file_id, filename, metadata, workspace_ids, callback_url, "
        "callback_token, state, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'QUEUED', ?)",
        (task_id, *file, json.dumps(workspace_ids), *callback, time.time()),
    )
    return task_id
