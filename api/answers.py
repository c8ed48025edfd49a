"""An answer as the grounded surfaces tell it, which is not how the chat's clients know it: by events, or whole."""

import json
from collections.abc import Iterable
from typing import Any

from api.event_stream import doc_of
from ragcore.budgets import Spent
from ragcore.errors import Conflict, NotFound, RagcoreError, Retryable, Unprocessable

Json = dict[str, Any]

BUDGET_FIELDS = ("resetAt", "plan", "upgradeUrl")  # of the error with the code `budget`

_KINDS: dict[str, type[RagcoreError]] = {  # by the codes of error events; others may pass
    "assistant_not_found": NotFound,
    "gone": NotFound,
    "not_indexed": Conflict,
    "conflict": Conflict,
    "stopped": Conflict,
    "too_long": Unprocessable,
    "refused": Unprocessable,
}


def event_of(doc: Json) -> Json | None:
    """None for what these surfaces do not tell."""
    match doc:
        case {"object": "delta", "content": text}:
            return {"type": "delta", "text": text}
        case {"object": "tool", "tool": tool}:
            return {"type": "tool", "tool": tool}
        case {"object": "sources", "content": sources}:
            return {"type": "sources", "sources": sources}
        case {"object": "saved", "conversation": conversation, "usage": usage}:
            cut = {"truncated": True} if doc.get("truncated") else {}
            return {"type": "saved", "conversation": conversation, "usage": usage, **cut}
        case {"object": "error", "message": message}:
            more = {name: doc[name] for name in BUDGET_FIELDS if name in doc}
            return {"type": "error", "message": message, "code": doc.get("code", ""), **more}
    return None


def shaped(text: str) -> str | None:
    """The data of a server-sent event, by the text of the published one."""
    event = event_of(doc_of(text))
    return json.dumps(event) if event else None


def whole_of(events: Iterable[Json]) -> Json:
    """Raises what its error event says; Conflict when it was stopped, and not saved."""
    pieces: list[str] = []
    answer: Json = {"answer": "", "sources": [], "conversation": None, "usage": None}
    for event in events:
        match event:
            case {"type": "delta", "text": text}:
                pieces.append(text)
            case {"type": "tool"}:
                continue
            case {"type": "error", "code": "budget"}:
                raise Spent.of(event)
            case {"type": "error", "message": message, "code": code}:
                error = _KINDS.get(code, Retryable)(message)
                error.code = code
                raise error
            case {"type": _, **fields}:
                answer |= fields
    if answer["conversation"] is None:
        raise Conflict("the answer was stopped")
    return answer | {"answer": "".join(pieces)}
