"""Faults that tests ask for: an answer, a delay or a cut for the next calls of a route."""

import json
import re
import threading
from dataclasses import dataclass
from typing import Any

from flask import Response

from deploy.sandbox.errors import Invalid


@dataclass
class Fault:
    """`remaining` is None for ever. `after` lets the call do its work and spoils only the answer."""

    method: str
    route: re.Pattern[str]
    status: int | None
    body: str
    headers: dict[str, str]
    delay: float
    cut: bool
    after: bool
    remaining: int | None

    def fits(self, method: str, path: str) -> bool:
        return self.method in ("", method) and self.route.search(path) is not None

    def response(self) -> Response:
        return Response(self.body, status=self.status or 503, headers=self.headers)


class Faults:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """The first fault that fits; it has then one call less to spoil."""
        with self._lock:
            fault = next((fault for fault in self._faults if fault.fits(method, path)), None)
            if fault is not None and fault.remaining is not None:
                fault.remaining -= 1
                if fault.remaining <= 0:
                    self._faults.remove(fault)
            return fault


def parse_fault(body: dict[str, Any]) -> Fault:
    try:
        route = re.compile(body["route"])
    except (KeyError, TypeError, re.error) as error:
        raise Invalid(("body", "route"), f"A regular expression is needed: {error}") from error
    return Fault(
        method=str(body.get("method") or "").upper(),
        route=route,
        status=body.get("status"),
        body=_text(body.get("body")),
        headers=_headers(body),
        delay=float(body.get("delay") or 0),
        cut=bool(body.get("cut")),
        after=bool(body.get("after")),
        remaining=body.get("times", 1),
    )


def _text(body: Any) -> str:
    if body is None:
        return ""
    return body if isinstance(body, str) else json.dumps(body)


def _headers(body: dict[str, Any]) -> dict[str, str]:
    """Without a Content-Type of its own, a body that looks like JSON is sent as JSON."""
    kind = "application/json" if _text(body.get("body")).startswith(("{", "[")) else "text/plain"
    return {"Content-Type": kind, **(body.get("headers") or {})}
