"""One question's answer: streamed from openRAG, published as it comes, saved."""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from ragcore.budgets import Spending
from ragcore.chat import conversations, messages
from ragcore.chat.arguments import Action
from ragcore.chat.assistants import scope_of
from ragcore.chat.conversations import Message
from ragcore.chat.errors import LATE, UNKNOWN_SURFACE, AnswerError
from ragcore.chat.owed import DONE, OwedQuestions
from ragcore.chat.query import Query
from ragcore.chat.reading import Reading, Ways
from ragcore.chat.stream import Stream
from ragcore.chat.titles import summary_of
from ragcore.claims import Claim, Lost
from ragcore.documents import CONVERSATIONS
from ragcore.errors import Retryable
from ragcore.events import CHAT_EVENTS, Event
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, Queue
from ragcore.questions import OLDEST, Question
from ragcore.runtime import Runtime
from ragcore.store import Document

log = logging.getLogger(__name__)

Json = dict[str, Any]

SAVES = 3  # of an answer, while the database does not answer
SAVE_AGAIN_AFTER = 0.3  # seconds
CHAT: Mapping[str, type[Reading]] = {"": Query}


def answer_question(runtime: Runtime, queue: Queue, job: AnswerJob, ways: Ways = CHAT) -> None:
    """A message that came twice, or whose question is over, is no work. In a process that ends, another one has it."""
    if runtime.ending.is_set():
        with suppress(Retryable):
            runtime.questions.mark_again(Question.of(job))
        queue.answer(job)
        return
    claim = runtime.claims.take(Question.of(job))
    if claim is None:
        log.info("%s: question %s is not to be answered", job.domain, job.question_id)
        return
    try:
        Answer(OwedQuestions(runtime, queue), job, claim, ways).run()
    except Retryable as error:
        log.error("%s: question %s is left to the sweep: %s", job.domain, job.question_id, error)
    finally:
        runtime.claims.release(claim)


@dataclass(frozen=True)
class Answer:
    """The work of one job. Whatever happens, the question gets one terminal event: `done` or `error`."""

    owed: OwedQuestions
    job: AnswerJob
    claim: Claim
    ways: Ways

    @property
    def runtime(self) -> Runtime:
        return self.owed.runtime

    def run(self) -> None:
        """Raises Retryable when the terminal event cannot be published: the sweep does it then."""
        try:
            self._answer()
        except Lost as error:
            log.info("%s: %s", self.job.domain, error)
        except Exception as error:  # noqa: BLE001  (its client waits: it is told, whatever went wrong)
            self._end(self._told(error))
            # not left to the sweep: after a Redis that was emptied it would tell an error once more
            self.owed.remove(self.claim.question)
        else:
            self._end(DONE)

    def _told(self, error: Exception) -> Json:
        told = AnswerError.of(error)
        log.warning("%s: question %s: %s: %s", self.job.domain, self.job.question_id, told.code, error,
                    exc_info=told.code == "internal")  # fmt: skip
        return told.document()

    def _end(self, doc: Json) -> None:
        self.runtime.publisher.flush()
        self.owed.go_on(self.claim.end(doc))

    def _answer(self) -> None:
        """Raises Lost, Interrupted, AnswerError and the store's errors."""
        if time.time() - self.job.asked_at > OLDEST:
            raise AnswerError(*LATE)
        job = self.job
        instance = Instance(job.domain, job.prefix, job.context, job.flags, org_id=job.org_id)
        conversation = self.runtime.store.get(instance, CONVERSATIONS, job.conversation_id)
        if conversations.is_answered(conversation, job.question_id):
            return
        reading = self._reading(instance, conversation)
        with reading.spending.question(reading.asked):
            action = reading.ask()
            self._save(instance, reading, action)

    def _reading(self, instance: Instance, conversation: Document) -> Reading:
        job = self.job
        if (way := self.ways.get(job.surface)) is None:
            raise AnswerError(*UNKNOWN_SURFACE)
        scope = scope_of(self.runtime, instance, conversation, job.documents)
        asked = messages.asked(conversation, job.question_id)
        stream = Stream(self._publish, job.domain)
        until = time.monotonic() + self.runtime.config.jobs.rag_query.timeout
        spending = self._spending(instance, until)
        return way(self.runtime, instance, job, scope, conversation, asked, stream, self.claim, until, spending)

    def _spending(self, instance: Instance, until: float) -> Spending:
        def check() -> None:
            self.claim.check()
            if time.monotonic() > until:
                raise Retryable("other answers of the same budget take too long")

        job = self.job
        return self.runtime.budgets.spending(instance, job.question_id, job.asked_at, check, job.surface)

    def _save(self, instance: Instance, reading: Reading, action: Action | None) -> None:
        """The action is saved before its event: a result that is posted on it finds it."""
        stream = reading.stream
        found = stream.sources if self.job.documents else []
        if found:
            self._publish({"object": "sources", "content": found})
        message = conversations.new_message(
            "assistant",
            "".join(stream.content),
            reasoning="".join(stream.reasoning),
            sources=found,
            action=action and _saved(action),
            truncated=stream.truncated and action is None,
            usage=stream.usage and asdict(stream.usage),
            surface=self.job.surface,
        )
        saved = self._save_message(instance, message)
        if action:
            self._publish({"object": "action", "message_id": message["id"], "action": _saved(action)})
        if saved and self.job.surface:
            told = {"conversation": summary_of(saved), "usage": asdict(stream.usage), **_cut(stream)}
            self._publish({"object": "saved", "message_id": message["id"], **told})
            self._go_on(reading, saved)

    def _go_on(self, reading: Reading, saved: Document) -> None:
        """In the background. What cannot be enqueued is made up for behind the next answer."""
        if job := reading.afterwards(saved):
            try:
                self.owed.queue.summarize(job)
            except Retryable as error:
                log.warning("%s: conversation %s is not summed up: %s", job.domain, job.conversation_id, error)

    def _save_message(self, instance: Instance, message: Message) -> Document | None:
        """As often as a conflict is tried: a write whose answer was lost is found by the next try."""
        ids = (self.job.conversation_id, self.job.question_id)
        for attempt in range(1, SAVES + 1):
            try:
                return conversations.add_answer(
                    self.runtime.store, instance, *ids, message, self.claim.begin_saving
                ) or self._found(instance, message)
            except Retryable as error:
                if attempt == SAVES:
                    raise
                log.warning("%s: question %s is saved again: %s", self.job.domain, self.job.question_id, error)
                time.sleep(SAVE_AGAIN_AFTER)
        raise AssertionError("unreachable")

    def _found(self, instance: Instance, message: Message) -> Document | None:
        """The conversation, where this answer was saved already."""
        if not self.job.surface:  # the chat tells nothing of it
            return None
        return conversations.with_message(self.runtime.store, instance, self.job.conversation_id, message["id"])

    def _publish(self, doc: Json) -> None:
        self.claim.check()
        event = Event("CREATED", CHAT_EVENTS, self.job.question_id, doc)
        self.runtime.publisher.publish(self.job.domain, event, self.claim.fence)


def _cut(stream: Stream) -> Json:
    return {"truncated": True} if stream.truncated else {}


def _saved(action: Action) -> Json:
    fields = asdict(action)
    return {"name": fields["name"], "params": fields["params"], "toolCallId": fields["tool_call_id"]}
