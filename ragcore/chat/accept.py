"""A message of a client: validated, saved, and its answer enqueued."""

import time
from typing import Any

from ragcore.chat import conversations
from ragcore.chat.conversations import Message
from ragcore.chat.owed import Entry, OwedQuestions
from ragcore.chat.requests import ChatRequest
from ragcore.documents import CONVERSATIONS, LONGEST_ID
from ragcore.errors import Invalid, RagcoreError, Retryable, Unanswered
from ragcore.events import Event
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, Queue
from ragcore.questions import Question
from ragcore.runtime import Runtime
from ragcore.store import Document


class _Stands(Retryable):
    """A question that could not be taken back: it may stand in its line, and stays owed for the sweep to end it."""


def accept(runtime: Runtime, queue: Queue, instance: Instance, conversation_id: str, body: Any) -> Document:
    """The conversation with the question, or the result, in it, whose answer is owed.

    Raises Invalid, Conflict, and Retryable when it could not be saved, or its answer not be enqueued: the question is
    taken back then. Where that fails as well, it is told how it ended.
    """
    check_id(conversation_id)
    return accept_request(runtime, queue, instance, conversation_id, ChatRequest.parse(body))[0]


def check_id(conversation_id: str) -> None:
    """Raises Invalid for one that no route could name. (A `/` is a step of a path, also where it is escaped.)"""
    if conversation_id.startswith("_"):
        raise Invalid("the id of a conversation does not begin with _")
    if "/" in conversation_id or len(conversation_id) > LONGEST_ID:
        raise Invalid(f"the id of a conversation has at most {LONGEST_ID} characters, and no / among them")


def accept_request(
    runtime: Runtime, queue: Queue, instance: Instance, conversation_id: str, request: ChatRequest
) -> tuple[Document, Question]:
    """The same, of any surface, with the question that the answer is owed to."""
    message = _message(request)
    question = Question(instance.domain, conversation_id, message["id"])
    entry = OwedQuestions(runtime, queue).enter(question)
    saved = _save(runtime, instance, conversation_id, message, request, entry)
    try:
        _enqueue(runtime, queue, _job(instance, question, request), saved)
    except Retryable as error:
        conversations.remove_question(runtime.store, instance, conversation_id, question.id)
        if not isinstance(error, _Stands):
            entry.remove()
        raise
    return saved, question


def _message(request: ChatRequest) -> Message:
    if (result := request.result) is None:
        more = {"attachmentIDs": list(request.attachment_ids), "surface": request.surface}
        return conversations.new_message("user", request.q, **more)
    named = {"messageID": result.message_id, "ok": result.ok}
    return conversations.new_message("tool", result.content, result=named)


def _save(
    runtime: Runtime, instance: Instance, conversation_id: str, message: Message, request: ChatRequest, entry: Entry
) -> Document:
    """Once it is owed. Where nobody can tell whether it was saved, it stays owed: the sweep tells how it ended."""
    store = runtime.store
    try:
        if request.result:
            return conversations.add_result(store, instance, conversation_id, message, entry.wait)
        created_on = f"{runtime.config.public_url(instance.domain)}/"
        about = (request.assistant_id, created_on, request.surface, request.history)
        return conversations.add_question(store, instance, conversation_id, message, *about, check=entry.wait)
    except Invalid:
        entry.remove()
        raise
    except RagcoreError as error:
        # it may be written all the same, and would stay without an answer
        if found := conversations.with_message(store, instance, conversation_id, message["id"]):
            return found
        if not isinstance(error, Unanswered):  # else it may be written later
            entry.remove()
        raise


def _enqueue(runtime: Runtime, queue: Queue, job: AnswerJob, conversation: Document) -> None:
    """At once, or when the questions before it have their answers. Raises Retryable, as if it had not been asked."""
    try:
        runtime.publisher.flush()  # what was written before comes before this
        if runtime.questions.ask(job, Event.of_write(CONVERSATIONS, conversation)):
            queue.answer(job)
    except Retryable as error:
        try:
            ending = runtime.questions.take_back(Question.of(job))
        except Retryable:
            raise _Stands(str(error), error.retry_after) from error
        OwedQuestions(runtime, queue).go_on(ending)
        if ending.done:
            raise
        # its message is in the queue all the same, and with a worker


def _job(instance: Instance, question: Question, request: ChatRequest) -> AnswerJob:
    return AnswerJob(
        domain=instance.domain,
        prefix=instance.prefix,
        context=instance.context,
        flags=instance.flags,
        org_id=instance.org_id,
        conversation_id=question.conversation_id,
        question_id=question.id,
        stream=request.stream,
        websearch=request.websearch,
        documents=request.documents,
        instructions=request.instructions,
        tools=[tool.definition() for tool in request.tools],
        asked_at=time.time(),
        surface=request.surface,
    )
