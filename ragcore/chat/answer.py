"""One question's answer: streamed from openRAG, published as it comes, saved."""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragcore.aborting import Abortable
from ragcore.chat import conversations, messages
from ragcore.chat.arguments import Action, Dropped, action_of
from ragcore.chat.assistants import Scope, scope_of
from ragcore.chat.conversations import Message
from ragcore.chat.errors import EMPTY, LATE, AnswerError
from ragcore.chat.owed import DONE, OwedQuestions
from ragcore.chat.stream import Stream
from ragcore.chat.tools import Tool, parse_tools
from ragcore.chat.user_written import Written
from ragcore.claims import Claim, Lost
from ragcore.documents import CONVERSATIONS
from ragcore.errors import NotFound, Retryable
from ragcore.events import CHAT_EVENTS, Event, Unpublished
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, Queue
from ragcore.openrag import OpenRag
from ragcore.questions import OLDEST, Question
from ragcore.runtime import Runtime

log = logging.getLogger(__name__)

Json = dict[str, Any]

SAVES = 3  # of an answer, while the database does not answer
SAVE_AGAIN_AFTER = 0.3  # seconds


def answer_question(runtime: Runtime, queue: Queue, job: AnswerJob) -> None:
    """A message that came twice, or whose question is over, is no work. In a process that ends, another one has it."""
    owed = OwedQuestions(runtime, queue)
    if runtime.ending.is_set():
        owed.hand_over(job)
        return
    claim = runtime.claims.take(Question.of(job))
    if claim is None:
        log.info("%s: question %s is not to be answered", job.domain, job.question_id)
        return
    try:
        Answer(owed, job, claim).run()
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
        instance = Instance(job.domain, job.prefix, job.context, job.flags)
        conversation = self.runtime.store.get(instance, CONVERSATIONS, job.conversation_id)
        if conversations.is_answered(conversation, job.question_id):
            return
        scope = scope_of(self.runtime, instance, conversation, job.documents)
        asked = messages.asked(conversation, job.question_id)
        until = time.monotonic() + self.runtime.config.jobs.rag_query.timeout
        query = Query(self.runtime, instance, job, scope, asked, Stream(self._publish, job.domain), self.claim, until)
        action = query.ask()
        self._save(instance, query.stream, action)

    def _save(self, instance: Instance, stream: Stream, action: Action | None) -> None:
        """The action is saved before its event: a result that is posted on it finds it."""
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
        )
        self._save_message(instance, message)
        if action:
            self._publish({"object": "action", "message_id": message["id"], "action": _saved(action)})

    def _save_message(self, instance: Instance, message: Message) -> None:
        """As often as a conflict is tried: a write whose answer was lost is found by the next try."""
        ids = (self.job.conversation_id, self.job.question_id)
        for attempt in range(SAVES):
            try:
                conversations.add_answer(self.runtime.store, instance, *ids, message, self.claim.begin_saving)
            except Retryable as error:
                if attempt == SAVES - 1:
                    raise
                log.warning("%s: question %s is saved again: %s", self.job.domain, self.job.question_id, error)
                time.sleep(SAVE_AGAIN_AFTER)
            else:
                return

    def _publish(self, doc: Json) -> None:
        self.claim.check()
        event = Event("CREATED", CHAT_EVENTS, self.job.question_id, doc)
        self.runtime.publisher.publish(self.job.domain, event, self.claim.fence)


def _saved(action: Action) -> Json:
    fields = asdict(action)
    return {"name": fields["name"], "params": fields["params"], "toolCallId": fields["tool_call_id"]}


@dataclass(frozen=True)
class Query:
    """What openRAG is asked for an answer: once, and once more without the tools when it made no good use of them."""

    runtime: Runtime
    instance: Instance
    job: AnswerJob
    scope: Scope
    asked: list[Message]
    stream: Stream
    claim: Claim
    until: float  # monotonic: the end of all queries together

    def ask(self) -> Action | None:
        """The action that is proposed; none: the stream holds the answer. Raises AnswerError, Retryable, Lost,
        Interrupted."""
        tools = parse_tools(self.job.tools, "/tools") if messages.may_have_tools(self.asked) else ()
        self._ask(tools)
        action = self._action(tools)
        if action is None and not self.stream.has_text and tools and self.stream.calls.first():
            self.stream.begin_again()
            self._ask(())
        if action is None and not self.stream.has_text:
            raise AnswerError(*EMPTY)
        return action

    def _action(self, tools: Sequence[Tool]) -> Action | None:
        """None when there is no call, or one that no action can be made of."""
        call = self.stream.calls.first()
        if call is None or not tools:
            return None
        try:
            if self.stream.broke_off and not call.arguments:
                raise Dropped(f"the stream broke off before the arguments of {call.name}")
            return action_of(call, tools, Written(messages.written(self.asked)).find)
        except Dropped as error:
            log.info("%s: question %s: a call is dropped: %s", self.job.domain, self.job.question_id, error)
            return None

    def _ask(self, tools: Sequence[Tool]) -> None:
        """Reads a stream to its end. One that breaks off after some text, or a call, is an answer, cut short.

        Behind its `finish_reason` nothing is missing.
        """
        stream = self.stream
        single_call = self.instance.rag_server(self.runtime.config).single_tool_call
        body = messages.completion(self.asked, self.job, self.scope, tools, single_call)
        try:
            with self.scope.secrets_kept():
                self._read_or_create_partition(self.runtime.openrag(self.instance), body)
        except Retryable as error:
            self.claim.check()
            if isinstance(error, Unpublished) or not (stream.ended or stream.has_text or stream.calls.first()):
                raise
            log.warning("%s: question %s: its stream ended badly: %s", self.job.domain, self.job.question_id, error)
            stream.truncated = stream.truncated or not stream.ended

    def _read_or_create_partition(self, openrag: OpenRag, body: Json) -> None:
        """The first question of an instance may come before its first file. A scoped one makes no partition."""
        try:
            self._read(openrag, body)
        except NotFound:
            if "workspace" in body["metadata"] or "model" not in body:
                raise Retryable("openRAG does not know the workspace, or the route") from None
            openrag.create_partition()
        else:
            return
        try:
            self._read(openrag, body)
        except NotFound:
            raise Retryable("openRAG does not know the partition that it made, or the route") from None

    def _read(self, openrag: OpenRag, body: Json) -> None:
        limits = self.runtime.config.jobs.rag_query
        left = self.until - time.monotonic()
        if left <= 0:
            raise Retryable("the answer takes too long")
        times = (limits.headers_timeout, limits.silence_timeout, left)
        call = Abortable()
        self.claim.fence.on_close = call.abort
        self.claim.check()
        with openrag.chat(body, *times, call) as chunks:
            for chunk in chunks:
                self.claim.check()
                self.stream.take(chunk)
        if not self.stream.ended:
            raise Retryable("the stream ended without its end")
