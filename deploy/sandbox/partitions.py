"""Partitions: what the server holds for one instance."""

import sqlite3
from datetime import UTC, datetime

from deploy.sandbox.database import Database
from deploy.sandbox.errors import ApiError, no_partition


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Partitions:
    def __init__(self, database: Database) -> None:
        self._database = database

    def require(self, partition: str) -> None:
        """Raises the 404 of an unknown partition."""
        if self._database.row("SELECT 1 FROM partitions WHERE name = ?", partition) is None:
            raise no_partition(partition)

    def create(self, partition: str) -> None:
        with self._database.transaction() as connection:
            if not create_if_missing(connection, partition):
                raise ApiError(409, f"Partition '{partition}' already exists")

    def delete(self, partition: str) -> None:
        self.require(partition)
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM partitions WHERE name = ?", (partition,))

    def files(self, partition: str, limit: int | None) -> list[sqlite3.Row]:
        """The indexed files, by id."""
        self.require(partition)
        return self._database.rows(
            "SELECT file_id, filename FROM files WHERE partition = ? AND indexed ORDER BY file_id LIMIT ?",
            partition,
            -1 if limit is None else limit,
        )


def create_if_missing(connection: sqlite3.Connection, partition: str) -> bool:
    added = connection.execute("INSERT OR IGNORE INTO partitions VALUES (?, ?)", (partition, now()))
    return added.rowcount == 1
