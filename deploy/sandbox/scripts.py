"""Scripted LLM streams that tests queue for the next completions."""

import threading
from dataclasses import dataclass, field
from typing import Any

from deploy.sandbox.errors import Invalid
from deploy.sandbox.pieces import Chunk, Cut, Delta, End, Failure, Hold, Pause, Piece, Pieces, Raw

Item = dict[str, Any]
KINDS = ("content", "reasoning", "delta", "chunk", "raw", "sleep", "hold", "error", "cut", "done", "finish", "extra")


@dataclass
class Script:
    """`match` must stand in the last user message; `sources` takes the place of those retrieved."""

    items: list[Item]
    remaining: int = 1
    match: str = ""
    sources: list[dict[str, Any]] | None = None
    released: set[str] = field(default_factory=set)  # the holds that are over

    def pieces(self) -> Pieces:
        """The `done`, `finish` and `extra` items say how the stream ends, wherever they stand."""
        for item in self.items:
            piece = self._hold(item["hold"]) if "hold" in item else _piece(item)
            if piece is not None:
                yield piece
            if isinstance(piece, Cut):
                return
        settled = {key: value for item in self.items for key, value in item.items()}
        yield End(
            finish=settled.get("finish", "tool_calls" if self._calls_a_tool() else "stop"),
            done=settled.get("done", True),
            extra=settled.get("extra") or {},
        )

    def _hold(self, name: str) -> Hold:
        return Hold(lambda: name in self.released)

    def _calls_a_tool(self) -> bool:
        return any((item.get("delta") or {}).get("tool_calls") for item in self.items)


class Scripts:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scripts: list[Script] = []
        self._released: set[str] = set()

    def add(self, script: Script) -> None:
        with self._lock:
            script.released = self._released
            self._scripts.append(script)

    def release(self, name: str) -> None:
        """Ends what is held under a name, now and from now on."""
        self._released.add(name)

    def clear(self) -> None:
        with self._lock:
            self._scripts.clear()

    def take(self, text: str) -> Script | None:
        """The oldest script whose `match` stands in `text`, else the oldest without one."""
        with self._lock:
            fitting = [script for script in self._scripts if script.match in text]
            fitting.sort(key=lambda script: not script.match)
            if not fitting:
                return None
            script = fitting[0]
            script.remaining -= 1
            if script.remaining <= 0:
                self._scripts.remove(script)
            return script


def parse_script(body: Item) -> Script:
    items = body.get("script")
    if not isinstance(items, list) or not all(_is_item(item) for item in items):
        raise Invalid(("body", "script"), f"A list of objects is needed, each with one of {', '.join(KINDS)}")
    return Script(items, int(body.get("times") or 1), str(body.get("match") or ""), body.get("sources"))


def _is_item(item: Any) -> bool:
    return isinstance(item, dict) and len(item) == 1 and next(iter(item)) in KINDS


def _piece(item: Item) -> Piece | None:
    match item:
        case {"content": text}:
            return Delta({"content": text})
        case {"reasoning": text}:
            return Delta({"reasoning_content": text})
        case {"delta": delta}:
            return Delta(delta)
        case {"chunk": chunk}:
            return Chunk(chunk)
        case {"raw": text}:
            return Raw(_bytes(text))
        case {"sleep": seconds}:
            return Pause(seconds)
        case {"error": error}:
            return Failure(error)
        case {"cut": True}:
            return Cut()
    return None


def _bytes(text: str) -> bytes:
    """One byte a character, so that a test can cut a UTF-8 sequence; other text as UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()
