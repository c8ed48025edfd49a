"""What was published for a question, for tests."""

import json
from typing import Any

from ragcore.questions import Question
from ragcore.runtime import Runtime


def docs(runtime: Runtime, question: Question) -> list[dict[str, Any]]:
    """The docs of its events, as the history has them."""
    events = runtime.history.of_question(question.domain, question.id)
    return [json.loads(event.text)["payload"]["doc"] for event in events]


def terminals(runtime: Runtime, question: Question) -> list[dict[str, Any]]:
    return [doc for doc in docs(runtime, question) if doc["object"] in ("done", "error")]
