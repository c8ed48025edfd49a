"""What all ways of answering a question have in common: what they know of it, and how a completion is read."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ragcore.aborting import Abortable
from ragcore.budgets import Spending
from ragcore.chat.arguments import Action
from ragcore.chat.assistants import Scope
from ragcore.chat.conversations import Message
from ragcore.chat.stream import Stream
from ragcore.claims import Claim
from ragcore.errors import Retryable
from ragcore.events import Unpublished
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, SummaryJob
from ragcore.openrag import Chunk, OpenRag
from ragcore.runtime import Runtime
from ragcore.store import Document

log = logging.getLogger(__name__)

Json = dict[str, Any]


@dataclass(frozen=True)
class Reading:
    """`asked` are the messages of the conversation up to the question."""

    runtime: Runtime
    instance: Instance
    job: AnswerJob
    scope: Scope
    conversation: Document
    asked: list[Message]
    stream: Stream
    claim: Claim
    until: float  # monotonic: the end of all queries together
    spending: Spending

    def ask(self) -> Action | None:
        """The action that is proposed; none: the stream holds the answer. Raises AnswerError, Retryable, Lost,
        Interrupted."""
        raise NotImplementedError

    def afterwards(self, saved: Document) -> SummaryJob | None:
        """What is to be done in the background once the answer is saved."""
        return None

    def read_to_end(self, read: Callable[[], None]) -> None:
        """A stream that breaks off after some text, or a call, is an answer, cut short.

        Behind its `finish_reason` nothing is missing.
        """
        stream = self.stream
        try:
            with self.scope.secrets_kept():
                read()
        except Retryable as error:
            self.claim.check()
            if isinstance(error, Unpublished) or not (stream.ended or stream.has_text or stream.calls.first()):
                raise
            log.warning("%s: question %s: its stream ended badly: %s", self.job.domain, self.job.question_id, error)
            stream.truncated = stream.truncated or not stream.ended

    def read(self, openrag: OpenRag, body: Json, take: Callable[[Chunk], None]) -> None:
        """One stream, each of its chunks as it comes. Raises Spent too."""
        limits = self.runtime.config.jobs.rag_query
        call = Abortable()
        with self.spending.call(body) as spent:
            times = (limits.headers_timeout, limits.silence_timeout, self.left())
            self.claim.fence.on_close = call.abort
            self.claim.check()
            with openrag.chat(body, *times, call) as chunks:
                for chunk in chunks:
                    self.claim.check()
                    spent.take(chunk)
                    take(chunk)
        if not self.stream.ended:
            raise Retryable("the stream ended without its end")

    def left(self) -> float:
        """Seconds. Raises Retryable."""
        if (left := self.until - time.monotonic()) <= 0:
            raise Retryable("the answer takes too long")
        return left


Ways = Mapping[str, type[Reading]]  # by the names of the surfaces
