"""Workspaces and the files in them."""

import sqlite3
from dataclasses import dataclass

from deploy.sandbox.database import Database
from deploy.sandbox.errors import ApiError, no_file, no_workspace
from deploy.sandbox.partitions import now
from deploy.sandbox.settings import Settings


@dataclass(frozen=True)
class Removed:
    """How many files left the server with their last workspace, and how many were kept without one."""

    deleted: int
    kept: int


class Workspaces:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def all(self, partition: str) -> list[sqlite3.Row]:
        return self._database.rows(
            "SELECT * FROM workspaces WHERE partition = ? ORDER BY created_at, workspace_id", partition
        )

    def get(self, partition: str, workspace_id: str) -> sqlite3.Row:
        """Raises the 404 of an unknown workspace."""
        row = self._database.row(
            "SELECT * FROM workspaces WHERE partition = ? AND workspace_id = ?", partition, workspace_id
        )
        if row is None:
            raise no_workspace(workspace_id)
        return row

    def create(self, partition: str, workspace_id: str, display_name: str | None) -> None:
        with self._database.transaction() as connection:
            if self._is_taken(partition, workspace_id):
                raise ApiError(409, f"Workspace '{workspace_id}' already exists.")
            connection.execute(
                "INSERT INTO workspaces VALUES (?, ?, ?, ?)", (partition, workspace_id, display_name, now())
            )

    def delete(self, partition: str, workspace_id: str, keep_files: bool) -> Removed:
        """Files left in no workspace go with it, except those first uploaded without one."""
        with self._database.transaction() as connection:
            self.get(partition, workspace_id)
            orphans = self._only_in(partition, workspace_id)
            connection.execute(
                "DELETE FROM workspaces WHERE partition = ? AND workspace_id = ?", (partition, workspace_id)
            )
            doomed = [] if keep_files else [row["file_id"] for row in orphans if row["in_workspace_first"]]
            connection.executemany(
                "DELETE FROM files WHERE partition = ? AND file_id = ?",
                [(partition, file_id) for file_id in doomed],
            )
            return Removed(len(doomed), len(orphans) - len(doomed))

    def files(self, partition: str, workspace_id: str) -> list[str]:
        self.get(partition, workspace_id)
        rows = self._database.rows(
            "SELECT file_id FROM memberships WHERE partition = ? AND workspace_id = ? ORDER BY file_id",
            partition,
            workspace_id,
        )
        return [row["file_id"] for row in rows]

    def add_files(self, partition: str, workspace_id: str, file_ids: list[str]) -> None:
        """All of them, or none and a 404."""
        with self._database.transaction() as connection:
            self.get(partition, workspace_id)
            unknown = sorted({id_ for id_ in file_ids if not self._is_file(partition, id_)})
            if unknown:
                raise ApiError(404, f"File IDs not found in partition '{partition}': {unknown}")
            connection.executemany(
                "INSERT OR IGNORE INTO memberships VALUES (?, ?, ?)",
                [(partition, workspace_id, file_id) for file_id in file_ids],
            )

    def remove_file(self, partition: str, workspace_id: str, file_id: str) -> None:
        with self._database.transaction() as connection:
            self.get(partition, workspace_id)
            removed = connection.execute(
                "DELETE FROM memberships WHERE partition = ? AND workspace_id = ? AND file_id = ?",
                (partition, workspace_id, file_id),
            )
            if not removed.rowcount:
                raise ApiError(404, "File not found in workspace")

    def of_file(self, partition: str, file_id: str) -> list[str]:
        if not self._is_file(partition, file_id):
            raise no_file(file_id, partition)
        rows = self._database.rows(
            "SELECT workspace_id FROM memberships WHERE partition = ? AND file_id = ? ORDER BY workspace_id",
            partition,
            file_id,
        )
        return [row["workspace_id"] for row in rows]

    def _is_taken(self, partition: str, workspace_id: str) -> bool:
        rows = self._database.rows("SELECT partition FROM workspaces WHERE workspace_id = ?", workspace_id)
        return any(self._settings.global_workspace_ids or row["partition"] == partition for row in rows)

    def _is_file(self, partition: str, file_id: str) -> bool:
        row = self._database.row(
            "SELECT 1 FROM files WHERE partition = ? AND file_id = ? AND indexed", partition, file_id
        )
        return row is not None

    def _only_in(self, partition: str, workspace_id: str) -> list[sqlite3.Row]:
        return self._database.rows(
            "SELECT file_id, in_workspace_first FROM files JOIN memberships USING (partition, file_id) "
            "WHERE partition = ?1 AND workspace_id = ?2 AND NOT EXISTS (SELECT 1 FROM memberships AS other "
            "WHERE other.partition = ?1 AND other.file_id = files.file_id AND other.workspace_id != ?2)",
            partition,
            workspace_id,
        )
