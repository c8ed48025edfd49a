from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat.titles import LONGEST, summary_of, title_of


def asked(content: Any, **fields: Any) -> dict[str, Any]:
    return {"_id": "c", "messages": [{"role": "user", "content": content}], **fields}


@pytest.mark.parametrize(
    ("doc", "title"),
    [
        (asked("How do I\n reset it?"), "How do I reset it?"),
        (asked("How?", name="Boilers"), "Boilers"),
        (asked("How?", name=" "), "How?"),
        (asked("word " * 30), "word " * 15 + "word…"),
        (asked("x" * 100), "x" * 79 + "…"),
        (asked(3), ""),
        ({"messages": "none"}, ""),
    ],
)
def test_what_a_conversation_is_called(doc: dict[str, Any], title: str) -> None:
    assert title_of(doc) == title


@given(st.text())
def test_a_title_is_one_line_and_short(question: str) -> None:
    title = title_of(asked(question))
    assert len(title) <= LONGEST
    assert len(title.splitlines()) <= 1
    assert bool(title) == bool(question.strip())


def test_a_summary() -> None:
    doc = asked("How?", cozyMetadata={"updatedAt": "2026-12-02"})
    assert summary_of(doc) == {"id": "c", "title": "How?", "updatedAt": "2026-12-02"}
    assert summary_of(asked("How?", cozyMetadata=3))["updatedAt"] is None
