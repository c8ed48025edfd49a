"""Tools, what the LLM says with them, and an answerer that a test runs itself."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragcore import config
from ragcore.chat.accept import accept
from ragcore.chat.answer import answer_question
from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, FeedJob, OperateJob, SummaryJob, WalkJob
from ragcore.runtime import Runtime
from ragcore.surfaces import WAYS

Json = dict[str, Any]

NOTE = {
    "name": "create_note",
    "description": "Writes a note.",
    "examples": ["Make a note of it"],
    "parameters": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "the title of the note"},
            "content": {"type": "string"},
        },
        "required": ["title"],
    },
    "instructions": "A note is concise.",
}
MAIL = {
    "name": "draft_email",
    "description": "Prepares an email.",
    "parameters": {
        "type": "object",
        "properties": {
            "to": {
                "type": "array",
                "items": {"type": "string"},
                "description": "the recipients",
                "x-user-written": True,
            },
            "body": {"type": "string"},
        },
        "required": ["to"],
    },
}
MILK = {"title": "Milk", "content": ""}  # the params of MILK_CALL


def fragment(arguments: Any = "", **fields: Any) -> Json:
    """A chunk with one fragment of a tool call: its `index`, `id` and `name` where they are given."""
    function = {"arguments": arguments} | ({"name": fields.pop("name")} if "name" in fields else {})
    return {"delta": {"tool_calls": [fields | {"function": function}]}}


def call(name: str = "create_note", arguments: Any = '{"title": "Milk"}', call_id: str = "call-1") -> Json:
    """A chunk with a whole tool call."""
    return fragment(arguments, index=0, id=call_id, type="function", name=name)


def objects(events: Sequence[Json]) -> list[str]:
    return [event["object"] for event in events]


@dataclass
class Answerer:
    """The queue of the questions of an instance and its only worker: the stack's leave them alone.

    What a running worker is configured with, or loses to others, can so be different in each test.
    """

    runtime: Runtime
    instance: Instance
    jobs: list[AnswerJob] = field(default_factory=list)
    summaries: list[SummaryJob] = field(default_factory=list)

    @classmethod
    def configured(cls, config_path: Path, instance: Instance, **limits: str) -> "Answerer":
        """With limits of `jobs.rag-query`, as an operator sets them in the environment."""
        environ = {f"RAGCORE_JOBS_RAG_QUERY_{name.upper()}": value for name, value in limits.items()}
        return cls(Runtime(config.load(environ, config_path)), instance)

    def ask(self, conversation_id: str, **body: Any) -> str:
        """The id of a new question, or of a result."""
        doc = accept(self.runtime, self, self.instance, conversation_id, body)
        question_id: str = doc["messages"][-1]["id"]
        return question_id

    def run(self) -> None:
        """Answers all that waits."""
        while self.jobs:
            answer_question(self.runtime, self, self.jobs.pop(0), WAYS)

    def events(self, question_id: str) -> list[Json]:
        """What was published for a question so far."""
        self.runtime.publisher.flush()
        published = self.runtime.history.of_question(self.instance.domain, question_id)
        return [json.loads(event.text)["payload"]["doc"] for event in published]

    def messages(self, conversation_id: str) -> list[Json]:
        messages: list[Json] = self.runtime.store.get(self.instance, CONVERSATIONS, conversation_id)["messages"]
        return messages

    def answer(self, job: AnswerJob) -> None:
        self.jobs.append(job)

    def summarize(self, job: SummaryJob) -> None:
        self.summaries.append(job)

    def has_answers(self) -> bool:
        return bool(self.jobs)

    def feed(self, job: FeedJob) -> None:
        raise NotImplementedError

    def walk(self, job: WalkJob) -> None:
        raise NotImplementedError

    def operate(self, job: OperateJob) -> None:
        raise NotImplementedError


Saved = Callable[[str], list[Json]]
