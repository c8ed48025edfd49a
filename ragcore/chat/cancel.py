"""Stops the answer to the last message of a conversation, whichever machine makes it."""

from ragcore.chat import conversations
from ragcore.chat.owed import DONE, OwedQuestions
from ragcore.documents import CONVERSATIONS
from ragcore.errors import NotFound
from ragcore.instances import Instance
from ragcore.jobs import Queue
from ragcore.questions import Question
from ragcore.runtime import Runtime


def cancel(runtime: Runtime, queue: Queue, instance: Instance, conversation_id: str) -> None:
    """Publishes `done`; the worker hears of it, closes its connection to openRAG, and saves nothing.

    Does nothing when the last message has its answer, or is being saved. Raises NotFound, Retryable.
    """
    if conversation_id.startswith("_"):
        raise NotFound("there is no such conversation")
    doc = runtime.store.get(instance, CONVERSATIONS, conversation_id)
    question_id = conversations.waiting_question(doc)
    if question_id is None:
        return
    stop(runtime, queue, Question(instance.domain, conversation_id, question_id))


def stop(runtime: Runtime, queue: Queue, question: Question) -> None:
    """The same, of one question. Raises Retryable."""
    ending = runtime.questions.end(question, DONE, "cancel")
    owed = OwedQuestions(runtime, queue)
    owed.go_on(ending)
    if ending.done:
        owed.remove(question)
