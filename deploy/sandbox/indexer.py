"""The indexing tasks: a small pool that takes uploads in their order, each after the settable delay."""

import json
import logging
import sqlite3
import threading
import time
from collections import deque
from pathlib import Path

from deploy.sandbox.callback import Callbacks, Outcome
from deploy.sandbox.chunks import Chunk, cut
from deploy.sandbox.database import Database
from deploy.sandbox.errors import ApiError
from deploy.sandbox.extract import Unreadable, format_of, pages_of
from deploy.sandbox.settings import Settings

WORKERS = 2
_log = logging.getLogger(__name__)


class Indexer:
    """`folder` holds one uploaded content for each task that has not ended, named by the task's id."""

    def __init__(self, database: Database, settings: Settings, folder: Path) -> None:
        self._database = database
        self._settings = settings
        self._folder = folder
        self._callbacks = Callbacks()
        self._changed = threading.Condition()
        self._waiting: deque[tuple[float, str]] = deque()

    def start(self) -> None:
        """Tasks that a former process left unfinished run again."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE tasks SET state = 'QUEUED' WHERE state IN ('SERIALIZING', 'CHUNKING', 'INSERTING')"
            )
        rows = self._database.rows("SELECT id, created_at FROM tasks WHERE state = 'QUEUED' ORDER BY created_at")
        self._waiting.extend((row["created_at"], row["id"]) for row in rows)
        self._remove_contents_but({row["id"] for row in rows})
        for number in range(WORKERS):
            threading.Thread(target=self._work, name=f"indexer-{number}", daemon=True).start()

    def submit(self, task_id: str, content: Path) -> None:
        """`content` is linked, not copied: it must lie on the same file system as the folder."""
        (self._folder / task_id).hardlink_to(content)
        with self._changed:
            self._waiting.append((time.time(), task_id))
            self._changed.notify()

    def settings_changed(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def task(self, task_id: str) -> sqlite3.Row:
        row = self._database.row("SELECT * FROM tasks WHERE id = ?", task_id)
        if row is None:
            raise ApiError(404, f"Task '{task_id}' not found.")
        return row

    def _work(self) -> None:
        while True:
            task_id = self._take()
            try:
                self._run(self.task(task_id))
            except Exception:  # noqa: BLE001 - the pool outlives a task that breaks
                _log.exception("task %s", task_id)

    def _take(self) -> str:
        with self._changed:
            while True:
                wait = self._time_to_next()
                if wait is not None and wait <= 0:
                    return self._waiting.popleft()[1]
                self._changed.wait(wait)

    def _time_to_next(self) -> float | None:
        if not self._waiting:
            return None
        return self._waiting[0][0] + self._settings.index_delay - time.time()

    def _run(self, task: sqlite3.Row) -> None:
        content = self._folder / task["id"]
        try:
            chunks = self._read(task, content)
        except Unreadable as error:
            counts = self._fail(task, str(error))
        else:
            counts = self._store(task, chunks)
        content.unlink(missing_ok=True)
        if counts:
            self._callbacks.send(_outcome(task, self.task(task["id"])["state"] == "COMPLETED"))

    def _read(self, task: sqlite3.Row, content: Path) -> list[Chunk]:
        self._enter(task["id"], "SERIALIZING")
        mimetype = json.loads(task["metadata"]).get("mimetype")
        pages = pages_of(content, format_of(task["filename"], mimetype))
        self._enter(task["id"], "CHUNKING")
        chunks = list(cut(pages))
        self._enter(task["id"], "INSERTING")
        return chunks

    def _enter(self, task_id: str, state: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("UPDATE tasks SET state = ? WHERE id = ?", (state, task_id))

    def _store(self, task: sqlite3.Row, chunks: list[Chunk]) -> bool:
        """Whether the task still counted: a later upload, or a removal, overtakes it."""
        with self._database.transaction() as connection:
            if not _still_counts(connection, task):
                _end(connection, task, "CANCELLED")
                return False
            _insert(connection, task, chunks)
            _join_workspaces(connection, task)
            _end(connection, task, "COMPLETED")
            return True

    def _fail(self, task: sqlite3.Row, error: str) -> bool:
        """A failed task leaves nothing under the id of its file."""
        with self._database.transaction() as connection:
            counts = _still_counts(connection, task)
            if counts:
                connection.execute("DELETE FROM files WHERE task_id = ?", (task["id"],))
            _end(connection, task, "FAILED" if counts else "CANCELLED", error)
            return counts

    def _remove_contents_but(self, task_ids: set[str]) -> None:
        for path in self._folder.iterdir():
            if path.name not in task_ids:
                path.unlink()


def _still_counts(connection: sqlite3.Connection, task: sqlite3.Row) -> bool:
    found = connection.execute("SELECT 1 FROM files WHERE task_id = ?", (task["id"],)).fetchone()
    return found is not None


def _end(connection: sqlite3.Connection, task: sqlite3.Row, state: str, error: str = "") -> None:
    connection.execute("UPDATE tasks SET state = ?, error = ? WHERE id = ?", (state, error, task["id"]))


def _insert(connection: sqlite3.Connection, task: sqlite3.Row, chunks: list[Chunk]) -> None:
    file = (task["partition"], task["file_id"])
    connection.execute("DELETE FROM chunks WHERE partition = ? AND file_id = ?", file)
    for chunk in chunks:
        added = connection.execute(
            "INSERT INTO chunks (partition, file_id, page) VALUES (?, ?, ?)", (*file, chunk.page)
        )
        connection.execute(
            "INSERT INTO passages (rowid, content, filename) VALUES (?, ?, ?)",
            (added.lastrowid, chunk.content, task["filename"]),
        )
    connection.execute(
        "UPDATE files SET indexed = 1, filename = ?, metadata = ? WHERE partition = ? AND file_id = ?",
        (task["filename"], task["metadata"], *file),
    )


def _join_workspaces(connection: sqlite3.Connection, task: sqlite3.Row) -> None:
    """Makes the memberships what the task was given; workspaces gone meanwhile are left out."""
    workspace_ids = json.loads(task["workspace_ids"])
    if workspace_ids is None:
        return
    file = (task["partition"], task["file_id"])
    connection.execute("DELETE FROM memberships WHERE partition = ? AND file_id = ?", file)
    for workspace_id in workspace_ids:
        connection.execute(
            "INSERT OR IGNORE INTO memberships SELECT partition, workspace_id, ? FROM workspaces "
            "WHERE partition = ? AND workspace_id = ?",
            (task["file_id"], task["partition"], workspace_id),
        )


def _outcome(task: sqlite3.Row, succeeded: bool) -> Outcome:
    return Outcome(
        url=task["callback_url"],
        token=task["callback_token"],
        partition=task["partition"],
        file_id=task["file_id"],
        succeeded=succeeded,
        metadata=json.loads(task["metadata"]),
    )
