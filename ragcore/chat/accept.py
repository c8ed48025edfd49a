"""A message of a client: validated, saved, and its answer enqueued."""

from typing import Any

from ragcore.chat import conversations
from ragcore.chat.requests import ChatRequest
from ragcore.errors import Invalid, Retryable
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob, Queue
from ragcore.runtime import Runtime
from ragcore.store import Document


def accept(runtime: Runtime, queue: Queue, instance: Instance, conversation_id: str, body: Any) -> Document:
    """The conversation with the question in it, whose answer is owed.

    Raises Invalid, and Retryable when the answer could not be enqueued: the question is taken back then.
    """
    if conversation_id.startswith("_"):
        raise Invalid("the id of a conversation does not begin with _")
    request = ChatRequest.parse(body)
    question = conversations.new_message("user", request.q, attachmentIDs=list(request.attachment_ids))
    created_on = f"{runtime.config.public_url(instance.domain)}/"
    try:
        saved = conversations.add_question(
            runtime.store, instance, conversation_id, question, request.assistant_id, created_on
        )
        # the event of the conversation comes before the first one of its answer
        runtime.publisher.flush()
        queue.answer(_job(instance, conversation_id, question["id"], request))
    except Retryable:
        conversations.remove_question(runtime.store, instance, conversation_id, question["id"])
        raise
    return saved


def _job(instance: Instance, conversation_id: str, question_id: str, request: ChatRequest) -> AnswerJob:
    return AnswerJob(
        domain=instance.domain,
        prefix=instance.prefix,
        context=instance.context,
        flags=instance.flags,
        conversation_id=conversation_id,
        question_id=question_id,
        stream=request.stream,
        websearch=request.websearch,
        documents=request.documents,
        instructions=request.instructions,
    )
