"""The SQLite file: one connection behind a lock, so that hundreds of threads can share it."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS partitions (name TEXT PRIMARY KEY, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    partition TEXT NOT NULL REFERENCES partitions ON DELETE CASCADE,
    file_id TEXT NOT NULL,
    filename TEXT NOT NULL,
    metadata TEXT NOT NULL,
    md5 TEXT NOT NULL,
    task_id TEXT NOT NULL,
    indexed INTEGER NOT NULL DEFAULT 0,
    in_workspace_first INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (partition, file_id)
);
CREATE INDEX IF NOT EXISTS files_by_content ON files (partition, md5);
CREATE TABLE IF NOT EXISTS tasks (
    id TEXT PRIMARY KEY,
    partition TEXT NOT NULL,
    file_id TEXT NOT NULL,
    filename TEXT NOT NULL,
    metadata TEXT NOT NULL,
    workspace_ids TEXT NOT NULL,
    callback_url TEXT NOT NULL,
    callback_token TEXT NOT NULL,
    state TEXT NOT NULL,
    error TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS workspaces (
    partition TEXT NOT NULL REFERENCES partitions ON DELETE CASCADE,
    workspace_id TEXT NOT NULL,
    display_name TEXT,
    created_at TEXT NOT NULL,
    PRIMARY KEY (partition, workspace_id)
);
CREATE TABLE IF NOT EXISTS memberships (
    partition TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    PRIMARY KEY (partition, workspace_id, file_id),
    FOREIGN KEY (partition, workspace_id) REFERENCES workspaces ON DELETE CASCADE,
    FOREIGN KEY (partition, file_id) REFERENCES files ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS memberships_by_file ON memberships (partition, file_id);
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    partition TEXT NOT NULL,
    file_id TEXT NOT NULL,
    page INTEGER NOT NULL,
    FOREIGN KEY (partition, file_id) REFERENCES files ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS chunks_by_file ON chunks (partition, file_id);
CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5 (
    content, filename, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER IF NOT EXISTS chunks_deleted AFTER DELETE ON chunks BEGIN
    DELETE FROM passages WHERE rowid = old.id;
END;
"""


class Database:
    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;" + SCHEMA
        )

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        with self._lock:
            found: sqlite3.Row | None = self._connection.execute(sql, values).fetchone()
            return found

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing, alone on the database; `rows` and `row` inside see what was written."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
