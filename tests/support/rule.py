"""The scope rule once more, from the documents alone, and what the stand-in openRAG really holds.

Nothing of the code under test is asked: the documents come from the database over HTTP, what openRAG holds from its
own tables, with the md5sum of the bytes that it received.
"""

import base64
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import requests

from deploy.local.stack import Stack

Json = dict[str, Any]
CHECKPOINT = "_local/rag-index"


@dataclass(frozen=True)
class Indexed:
    """One file: the md5sum (hexadecimal) that its document or its metadata says, that of its bytes, its workspaces."""

    said: str
    md5sum: str
    workspaces: frozenset[str]


@dataclass(frozen=True)
class World:
    """One instance of a stack."""

    stack: Stack
    domain: str

    def wanted(self) -> dict[str, Indexed]:
        """What openRAG should hold, by the id of the file. The contents of a test's files all differ."""
        docs = self._documents("io-cozy-files")
        paths = {doc["_id"]: doc["path"] for doc in docs if doc.get("type") == "directory"}
        scopes = {dir_id: paths[dir_id] for dir_id in self._folders() if not _below(paths[dir_id], "/.cozy_trash")}
        files = {}
        for doc in docs:
            path = paths[doc["dir_id"]] if doc.get("type") == "file" else "/.cozy_trash"
            workspaces = frozenset(dir_id for dir_id, scope in scopes.items() if _below(path, scope))
            if workspaces and not doc.get("trashed") and not _below(path, "/.cozy_trash"):
                md5sum = base64.b64decode(doc["md5sum"]).hex()
                files[doc["_id"]] = Indexed(md5sum, md5sum, workspaces)
        return files

    def held(self) -> dict[str, Indexed]:
        """What openRAG holds; a file that is not indexed yet is in it without workspaces."""
        files = self._rows("SELECT file_id, md5, metadata FROM files WHERE partition = ?")
        members = self._rows("SELECT file_id, workspace_id FROM memberships WHERE partition = ?")
        return {
            file_id: Indexed(
                json.loads(metadata).get("md5sum", ""),
                md5,
                frozenset(place for member, place in members if member == file_id),
            )
            for file_id, md5, metadata in files
        }

    def differing(self) -> set[str]:
        """The files whose state is not the scope rule's."""
        wanted, held = self.wanted(), self.held()
        return {file_id for file_id in wanted.keys() | held.keys() if wanted.get(file_id) != held.get(file_id)}

    def is_read(self) -> bool:
        """Whether the checkpoint stands at the end of the feed."""
        last = self._get("io-cozy-files", CHECKPOINT).json().get("last_seq")
        changes = self._get("io-cozy-files", "_changes", since=json.dumps(last)).json()
        return last is not None and not changes["results"]

    def owed(self) -> list[str]:
        """What the ledger holds of this instance."""
        url = f"{self.stack.url('couchdb')}global%2Frag-owed/_all_docs"
        rows = requests.get(url, timeout=10).json().get("rows", ())
        return [row["id"] for row in rows if self.domain in row["id"]]

    def is_settled(self) -> bool:
        return self.is_read() and not self.owed() and not self.differing()

    def _folders(self) -> set[str]:
        return {
            doc["relationships"]["knowledgeBase"]["data"][0]["_id"]
            for doc in self._documents("io-cozy-ai-chat-assistants")
            if "relationships" in doc
        }

    def _documents(self, doctype: str) -> list[Json]:
        rows = self._get(doctype, "_all_docs", include_docs="true").json().get("rows", ())
        return [row["doc"] for row in rows if not row["id"].startswith("_design/")]

    def _get(self, doctype: str, path: str, **params: str) -> requests.Response:
        database = f"{self.domain.replace('.', '-')}%2F{doctype}"
        return requests.get(f"{self.stack.url('couchdb')}{database}/{path}", params=params, timeout=10)

    def _rows(self, query: str) -> list[tuple[str, ...]]:
        file = self.stack.data / "openrag" / "sandbox.sqlite3"
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)) as database:
            return database.execute(query, [self.domain]).fetchall()


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def figures(worlds: Sequence[World]) -> dict[str, object]:
    """How far the files of some instances are where they should be."""
    held = [world.held() for world in worlds]
    contents = [(number, file.md5sum) for number, files in enumerate(held) for file in files.values()]
    return {
        "files on openRAG": sum(map(len, held)),
        "that the rule wants": sum(len(world.wanted()) for world in worlds),
        "differing": sum(len(world.differing()) for world in worlds),
        "contents twice": len(contents) - len(set(contents)),
        "checkpoints at the end": f"{sum(world.is_read() for world in worlds)} of {len(worlds)}",
        "still owed": sum(len(world.owed()) for world in worlds),
    }
