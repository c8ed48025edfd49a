"""The calls that were made, for tests to look at."""

import json
import re
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from flask import Request

KEPT = 5000
MAX_JSON = 65_536


@dataclass
class Call:
    """`at` is in seconds since 1970; `status` is None while the call runs, and when it was cut."""

    method: str
    path: str
    query: dict[str, str]
    at: float = field(default_factory=time.time)
    status: int | None = None
    body: bytes | None = None
    size: int | None = None  # of the whole body, of which no more than `MAX_JSON` is kept
    fields: dict[str, str] | None = None
    filename: str | None = None
    closed_early: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "status": self.status,
            "at": self.at,
            "json": _parse(self.body),
            "size": self.size,
            "fields": self.fields,
            "filename": self.filename,
            "closed_early": self.closed_early,
        }


class Calls:
    """The last 5000."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: deque[Call] = deque(maxlen=KEPT)

    def begin(self, request: Request) -> Call:
        call = Call(request.method, request.path, request.args.to_dict())
        if request.mimetype == "application/json":
            body = request.get_data()
            call.body, call.size = body[: MAX_JSON + 1], len(body)
        with self._lock:
            self._calls.append(call)
        return call

    def matching(self, route: str, method: str) -> list[Call]:
        pattern = re.compile(route)
        with self._lock:
            calls = list(self._calls)
        return [call for call in calls if pattern.search(call.path) and method in ("", call.method)]

    def clear(self) -> None:
        with self._lock:
            self._calls.clear()


def note_form(call: Call, request: Request) -> None:
    """Reads the whole form, the content of its file included."""
    call.fields = request.form.to_dict()
    upload = request.files.get("file")
    call.filename = upload.filename if upload else None


def _parse(body: bytes | None) -> Any:
    """The JSON of a body; one that was cut, or is no JSON, as text."""
    if body is None:
        return None
    try:
        return json.loads(body[:MAX_JSON])
    except ValueError:
        return body[:MAX_JSON].decode("utf-8", "replace")
