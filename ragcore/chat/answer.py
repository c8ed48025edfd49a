"""One question's answer: streamed from openRAG, published as it comes, saved."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ragcore.chat import conversations, messages, sources
from ragcore.chat.assistants import scope_of
from ragcore.chat.errors import UNAVAILABLE, AnswerError
from ragcore.documents import CONVERSATIONS
from ragcore.errors import NotFound, Retryable
from ragcore.events import CHAT_EVENTS, Event, Unpublished
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob
from ragcore.openrag import Chunk, OpenRag
from ragcore.runtime import Runtime

log = logging.getLogger(__name__)

Json = dict[str, Any]


@dataclass
class Stream:
    """What has come of an answer. Each piece of text is published with its position, once."""

    publish: Callable[[Json], None]
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    sources: list[Json] = field(default_factory=list)
    ended: bool = False
    truncated: bool = False

    def take(self, chunk: Chunk) -> None:
        """Raises Retryable for an error chunk."""
        if chunk.error:
            raise Retryable(f"the LLM failed: {chunk.error}")
        self._publish("reasoning", self.reasoning, chunk.reasoning)
        self._publish("delta", self.content, chunk.content)
        self.sources = sources.from_openrag(chunk.sources) or self.sources
        self.truncated = self.truncated or chunk.truncated
        self.ended = self.ended or chunk.done or bool(chunk.finish_reason)

    def _publish(self, kind: str, pieces: list[str], text: str) -> None:
        if text:
            self.publish({"object": kind, "content": text, "position": len(pieces)})
            pieces.append(text)

    @property
    def has_text(self) -> bool:
        return bool("".join(self.content).strip())


@dataclass(frozen=True)
class Answer:
    """The work of one job. Whatever happens, the question gets one terminal event: `done` or `error`."""

    runtime: Runtime
    job: AnswerJob

    def run(self) -> None:
        try:
            published = self._answer()
        except Exception as error:  # noqa: BLE001  (its client waits: it is told, whatever went wrong)
            told = AnswerError.of(error)
            log.warning("%s: question %s: %s: %s", self.job.domain, self.job.question_id, told.code, error,
                        exc_info=told.code == "internal")  # fmt: skip
            self._publish({"object": "error", "message": str(told), "code": told.code})
        else:
            if published:
                self._publish({"object": "done"})
        self.runtime.publisher.flush()

    def _answer(self) -> bool:
        """Whether there is an answer now that was not there before. Raises AnswerError and the store's errors."""
        job, store = self.job, self.runtime.store
        instance = Instance(job.domain, job.prefix, job.context, job.flags)
        conversation = store.get(instance, CONVERSATIONS, job.conversation_id)
        if conversations.is_answered(conversation, job.question_id):
            return False
        openrag = self.runtime.openrag(instance)
        scope = scope_of(store, instance, openrag, conversation, job.documents)
        stream = Stream(self._publish)
        self._ask(openrag, messages.completion(conversation, job, scope), stream)
        return self._save(instance, stream)

    def _ask(self, openrag: OpenRag, body: Json, stream: Stream) -> None:
        """Reads the stream to its end. One that breaks off after some text is an answer, cut short."""
        try:
            self._read_or_create_partition(openrag, body, stream)
        except Retryable as error:
            if not stream.has_text or isinstance(error, Unpublished):
                raise
            log.warning("%s: question %s: cut short: %s", self.job.domain, self.job.question_id, error)
            stream.truncated = True

    def _read_or_create_partition(self, openrag: OpenRag, body: Json, stream: Stream) -> None:
        """The first question of an instance may come before its first file. A scoped one makes no partition."""
        try:
            self._read(openrag, body, stream)
        except NotFound:
            if "workspace" in body["metadata"] or "model" not in body:
                raise Retryable("openRAG does not know the workspace, or the route") from None
            openrag.create_partition()
            self._read(openrag, body, stream)

    def _read(self, openrag: OpenRag, body: Json, stream: Stream) -> None:
        limits = self.runtime.config.jobs.rag_query
        with openrag.chat(body, limits.headers_timeout, limits.silence_timeout, limits.timeout) as chunks:
            for chunk in chunks:
                stream.take(chunk)
        if not stream.ended:
            raise Retryable("the stream ended without its end")
        if not stream.has_text:
            raise AnswerError("empty", UNAVAILABLE)

    def _save(self, instance: Instance, stream: Stream) -> bool:
        if stream.sources:
            self._publish({"object": "sources", "content": stream.sources})
        message = conversations.new_message(
            "assistant",
            "".join(stream.content),
            reasoning="".join(stream.reasoning),
            sources=stream.sources,
            truncated=stream.truncated,
        )
        ids = (self.job.conversation_id, self.job.question_id)
        return conversations.add_answer(self.runtime.store, instance, *ids, message) is not None

    def _publish(self, doc: Json) -> None:
        self.runtime.publisher.publish(self.job.domain, Event("CREATED", CHAT_EVENTS, self.job.question_id, doc))
