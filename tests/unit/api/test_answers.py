import json
from typing import Any

import pytest

from api.answers import event_of, shaped, whole_of
from ragcore.budgets import Spent
from ragcore.errors import Conflict, NotFound, RagcoreError, Retryable, Unprocessable

BUDGET = {"resetAt": "2100-01-01T00:00:00.000Z", "plan": "free", "upgradeUrl": None}
SAVED = {"id": "c", "title": "Why?", "updatedAt": "2026"}


@pytest.mark.parametrize(
    ("doc", "event"),
    [
        ({"object": "delta", "content": "Red", "position": 0}, {"type": "delta", "text": "Red"}),
        ({"object": "tool", "tool": {"name": "x"}}, {"type": "tool", "tool": {"name": "x"}}),
        ({"object": "sources", "content": [{"id": "f"}]}, {"type": "sources", "sources": [{"id": "f"}]}),
        (
            {"object": "saved", "message_id": "m", "conversation": SAVED, "usage": {}},
            {"type": "saved", "conversation": SAVED, "usage": {}},
        ),
        (
            {"object": "error", "message": "No.", "code": "late"},
            {"type": "error", "message": "No.", "code": "late"},
        ),
        (
            {"object": "error", "message": "Spent.", "code": "budget", **BUDGET},
            {"type": "error", "message": "Spent.", "code": "budget", **BUDGET},
        ),
        ({"object": "reasoning", "content": "Hm."}, None),
        ({"object": "done"}, None),
    ],
)
def test_what_is_told(doc: dict[str, Any], event: dict[str, Any] | None) -> None:
    assert event_of({"_id": "q", **doc}) == event
    text = shaped(json.dumps({"payload": {"doc": doc}}))
    assert (json.loads(text) if text else None) == event


def test_a_whole_answer() -> None:
    pieces = [{"type": "delta", "text": "Re"}, {"type": "tool", "tool": {}}, {"type": "delta", "text": "d"}]
    events = [*pieces, {"type": "sources", "sources": [1]}]
    saved = {"type": "saved", "conversation": SAVED, "usage": {"total_tokens": 3}}
    assert whole_of([*events, saved]) == {
        "answer": "Red", "sources": [1], "conversation": SAVED, "usage": {"total_tokens": 3}
    }  # fmt: skip
    with pytest.raises(Conflict):
        whole_of(events)


@pytest.mark.parametrize(
    ("code", "kind"),
    [("assistant_not_found", NotFound), ("not_indexed", Conflict), ("too_long", Unprocessable), ("x", Retryable)],
)
def test_an_error_is_one_of_the_request(code: str, kind: type[RagcoreError]) -> None:
    with pytest.raises(kind, match=r"^No\.$"):
        whole_of([{"type": "delta", "text": "Re"}, {"type": "error", "message": "No.", "code": code}])


def test_a_spent_budget_is_one_of_too_many_requests() -> None:
    with pytest.raises(Spent, match="^Daily AI budget reached$") as raised:
        whole_of([{"type": "error", "message": "Daily AI budget reached", "code": "budget", **BUDGET}])
    assert raised.value.fields() == BUDGET
