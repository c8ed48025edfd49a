"""Messages of the jobs, as small typed records, and the queue that they are handed to."""

from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class AnswerJob:
    """One question to answer. `flags` and `context` of the instance come along: it costs no look-up.

    `tools` are definitions as `chat.tools` gives them, `asked_at` is Unix time.
    """

    domain: str
    prefix: str
    conversation_id: str
    question_id: str
    context: str = ""
    flags: dict[str, Any] = field(default_factory=dict)
    stream: bool = True
    websearch: bool = False
    documents: bool = True
    instructions: str = ""
    tools: list[dict[str, Any]] = field(default_factory=list)
    asked_at: float = 0.0
    surface: str = ""  # the way in which it is answered; the empty one is the chat
    org_id: str = ""


@dataclass(frozen=True)
class SummaryJob:
    """Refreshes the summary of a conversation."""

    domain: str
    prefix: str
    conversation_id: str
    context: str = ""
    flags: dict[str, Any] = field(default_factory=dict)
    org_id: str = ""


@dataclass(frozen=True)
class Cause:
    """The trigger that a job comes from; `manual` when somebody launched it."""

    trigger_id: str
    manual: bool = False


@dataclass(frozen=True)
class FeedJob:
    """Brings openRAG up to date with the changes of an instance's files."""

    domain: str
    job_id: str = ""  # of its document


@dataclass(frozen=True)
class WalkJob:
    """Applies the scope rule to the subtree of a knowledge base folder; in the `background`, after all other jobs."""

    domain: str
    dir_id: str
    job_id: str = ""
    background: bool = False


@dataclass(frozen=True)
class OperateJob:
    """What an operator asked for: `prune` or `purge`."""

    domain: str
    action: str
    job_id: str = ""


IndexJob = FeedJob | WalkJob | OperateJob


class Queue(Protocol):
    """Where jobs go. Each call raises Retryable when the job could not be handed over."""

    def answer(self, job: AnswerJob) -> None: ...

    def summarize(self, job: SummaryJob) -> None: ...

    def has_answers(self) -> bool:
        """Whether messages of answers wait in the queue."""

    def feed(self, job: FeedJob) -> None: ...

    def walk(self, job: WalkJob) -> None: ...

    def operate(self, job: OperateJob) -> None: ...

    def has_index_jobs(self) -> bool:
        """Whether messages of the other jobs wait in the queue."""


def to_message(job: Any) -> dict[str, Any]:
    return dict(vars(job))


def from_message(kind: type[T], message: dict[str, Any]) -> T:
    """The record of a message; fields that this version does not know are left out."""
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in message.items() if name in known})
