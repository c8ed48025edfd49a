"""The chat page in a browser, for tests: what it did that it must not, and what a screen reader would stumble over."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, WebError, WebSocket

from deploy.local.layout import CHECKOUT

AXE = CHECKOUT / "tests/clients/node_modules/axe-core/axe.min.js"
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
INSIDE = ("about", "blob", "data")  # no request leaves the browser for these
LOUD = ("error", "warning")


@dataclass
class Faults:
    """What the pages of a test did wrong. A test that provokes something allows it, by a regular expression."""

    host: str
    found: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("weberror", self._error)
        context.on("request", self._request)
        context.on("requestfailed", self._failure)
        context.on("page", lambda page: page.on("websocket", self._socket))

    def allow(self, pattern: str) -> None:
        self.allowed.append(pattern)

    def left(self) -> list[str]:
        return [fault for fault in self.found if not any(re.search(pattern, fault) for pattern in self.allowed)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in LOUD:
            self.found.append(f"{message.type}: {message.text} ({message.location['url']})")

    def _error(self, error: WebError) -> None:
        self.found.append(f"uncaught: {error.error}")

    def _request(self, request: Request) -> None:
        self._check_host(request.url)

    def _socket(self, socket: WebSocket) -> None:
        self._check_host(socket.url)

    def _check_host(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in INSIDE and parts.netloc != self.host:
            self.found.append(f"elsewhere: {url}")

    def _failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # what a page gives up itself, or leaves behind at a reload
            self.found.append(f"failed: {request.method} {request.url} {request.failure}")


def serious_faults(page: Page) -> list[dict[str, Any]]:
    """What axe-core finds, serious or worse: for each rule its id, what it says and the elements."""
    # not by a <script> or an eval(): the page's policy allows neither
    session = page.context.new_cdp_session(page)
    loaded = session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    session.detach()
    assert "exceptionDetails" not in loaded, loaded["exceptionDetails"]
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations'], preload: false})")
    return [
        {
            "rule": rule["id"],
            "help": rule["help"],
            "elements": [f"{node['html']} {node['failureSummary']}" for node in rule["nodes"]],
        }
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
    ]
