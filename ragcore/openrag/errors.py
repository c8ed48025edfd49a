"""What an answer of openRAG that is not a success means (`contracts/openrag.md`, Errors and 409s)."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import requests

from ragcore.errors import NotFound, RagcoreError, Refused, Retryable, retry_after

LARGEST = 65536  # bytes of an error that are looked at
REFUSALS = (400, 413, 415, 422)
_CODED = re.compile(r"^\[(\w+)\]:\s*(.*)", re.DOTALL)


class TooLarge(Refused):
    """A 413: the file, or the messages and tools of a chat, are more than openRAG takes."""


class Exists(RagcoreError):
    """The file id is known, or an earlier upload of it is still being indexed: send it with PUT."""


class Swapping(Retryable):
    """The partition is being embedded anew: it takes no upload until that is over."""


class Duplicate(RagcoreError):
    """Another file of the partition holds this content."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"its content is on openRAG already, as file {holder}")
        self.holder = holder


@dataclass(frozen=True)
class Problem:
    """The body of an error: FastAPI's `detail`, its code (`""` when it has none) and its `extra`."""

    status: int
    detail: str = ""
    code: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, response: requests.Response, beginning: bytes | None = None) -> "Problem":
        """Reads the body as text first: a proxy in between may answer anything."""
        text = (response.content[:LARGEST] if beginning is None else beginning).decode(errors="replace")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return cls(response.status_code)
        detail, extra = body.get("detail"), body.get("extra")
        words = _words(detail)
        coded = _CODED.match(words)
        code, words = (coded[1], coded[2]) if coded else ("", words)
        return cls(response.status_code, words[:500], code, extra if isinstance(extra, dict) else {})

    def __str__(self) -> str:
        said = f": {self.detail}" if self.detail else ""
        return f"openRAG answered {self.status}{said}"


def _words(detail: Any) -> str:
    """Of a 422 where and what is wrong, without the `input`: it can be what the user wrote, or a key."""
    if isinstance(detail, str):
        return detail
    entries = [entry for entry in detail if isinstance(entry, dict)] if isinstance(detail, list) else []
    return "; ".join(f"{_place(entry.get('loc'))}: {entry.get('msg')}" for entry in entries)


def _place(loc: Any) -> str:
    return ".".join(map(str, loc)) if isinstance(loc, list) else ""


def error_of(response: requests.Response, beginning: bytes | None = None) -> RagcoreError:
    """The error that any call raises for an answer that is no success; uploads look at their 409s before.

    Its body is read to its end, unless its `beginning` was.
    """
    problem = Problem.of(response, beginning)
    if problem.status == 404 and problem.detail:  # a 404 without it is of somebody in between
        return NotFound(str(problem))
    if problem.status == 413:
        return TooLarge(str(problem))
    if problem.status in REFUSALS:
        return Refused(str(problem))
    return Retryable(str(problem), retry_after(response.headers.get("Retry-After")))


def upload_error(response: requests.Response, file_id: str) -> RagcoreError:
    """The error of an upload. The code decides; words only where there is none."""
    problem = Problem.of(response)
    if problem.status != 409:
        return error_of(response)
    holder = problem.extra.get("existing_file_id")
    if problem.code == "DOCUMENT_CONTENT_EXISTS" and isinstance(holder, str):
        # older servers say it of the same id too, while its own task runs
        return Exists(str(problem)) if holder == file_id else Duplicate(holder)
    known = not problem.code and problem.detail.startswith("File ") and "already exists" in problem.detail
    if known or problem.code == "DOCUMENT_INDEXING_IN_PROGRESS":
        return Exists(str(problem))
    kind = Swapping if problem.code == "EMBEDDER_SWAP_IN_PROGRESS" else Retryable
    return kind(str(problem), retry_after(response.headers.get("Retry-After")))
