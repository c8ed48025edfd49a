"""Conversations as they are saved, and every save of one: on a fresh read, so that what clients wrote stays."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from ragcore import units
from ragcore.documents import ASSISTANTS, CONVERSATIONS, related
from ragcore.errors import Invalid, NotFound
from ragcore.instances import Instance
from ragcore.questions import Question
from ragcore.store import Document, Store

Message = dict[str, Any]
Check = Callable[[], None]  # called before each write, and may keep it from being done

QUESTIONS = ("user", "tool")  # roles of what an answer is owed to


def new_message(role: str, content: str, **more: Any) -> Message:
    """A message with an id and a date; fields of `more` that are empty are left out."""
    message = {"id": uuid.uuid4().hex, "role": role, "content": content}
    return message | {key: value for key, value in more.items() if value} | {"createdAt": units.now()}


def add_question(
    store: Store,
    instance: Instance,
    conversation_id: str,
    question: Message,
    assistant_id: str,
    created_on: str,
    surface: str = "",
    history: Sequence[Message] = (),
    check: Check = lambda: None,
) -> Document:
    """Appends a question; an unknown conversation is created, with its assistant, its surface and its history.

    It is announced when the answer is asked for. Raises Conflict.
    """

    def append(doc: Document) -> Document:
        check()
        if "_rev" not in doc:
            doc = doc | _new_conversation(assistant_id, created_on, surface, history)
        return _touched(doc, [*_written(doc), question])

    return _saved(store.update(instance, CONVERSATIONS, conversation_id, append, tell=False))


def add_result(
    store: Store, instance: Instance, conversation_id: str, result: Message, check: Check = lambda: None
) -> Document:
    """Appends the result of an action, announced as a question is.

    Raises Invalid when the message it names awaits none, Conflict.
    """

    def append(doc: Document) -> Document:
        _check_result(messages_of(doc), result["result"]["messageID"])
        check()
        return _touched(doc, [*_written(doc), result])

    return _saved(store.update(instance, CONVERSATIONS, conversation_id, append, tell=False))


def _check_result(messages: list[Message], message_id: str) -> None:
    pointer = "/result/messageID"
    proposal = next((message for message in messages if message.get("id") == message_id), None)
    if proposal is None:
        raise Invalid("result.messageID is no message of this conversation", pointer)
    if action_of(proposal) is None:
        raise Invalid("result.messageID is a message that proposed no action", pointer)
    if any(answered_action(message) == message_id for message in messages):
        raise Invalid("the result of this action was given already", pointer)


def remove_question(store: Store, instance: Instance, conversation_id: str, question_id: str) -> None:
    """Takes back a question, or a result, that no job was pushed for; a conversation that it made goes with it."""

    def without(doc: Document) -> Document | None:
        question = next((message for message in messages_of(doc) if message.get("id") == question_id), None)
        if question is None:
            return None
        left = [m for m in _written(doc) if not isinstance(m, dict) or m.get("id") != question_id]
        # the first revision is another one where a conversation of this id was deleted before
        made = doc["_rev"].startswith("1-") or (not left and _is_made_with(question, doc))
        return {"_id": doc["_id"], "_rev": doc["_rev"], "_deleted": True} if made else _touched(doc, left)

    store.update(instance, CONVERSATIONS, conversation_id, without)


def add_answer(
    store: Store,
    instance: Instance,
    conversation_id: str,
    question_id: str,
    answer: Message,
    check: Check = lambda: None,
) -> Document | None:
    """Puts an answer right behind its question; None when the question has one already.

    Raises NotFound when the conversation or the question is gone, Conflict after three attempts.
    """

    def insert(doc: Document) -> Document | None:
        if is_answered(doc, question_id):
            return None
        messages = _written(doc)
        after = messages.index(messages_of(doc)[position_of(doc, question_id)]) + 1
        check()
        return _touched(doc, [*messages[:after], answer, *messages[after:]])

    return store.update(instance, CONVERSATIONS, conversation_id, insert)


def with_message(store: Store, instance: Instance, conversation_id: str, message_id: str) -> Document | None:
    """The conversation, if this message is in it. Raises Retryable."""
    doc = store.get_or_new(instance, CONVERSATIONS, conversation_id)
    return doc if any(message.get("id") == message_id for message in messages_of(doc)) else None


def messages_of(doc: Document) -> list[Message]:
    """The messages, without what a client wrote there that is none."""
    return [message for message in _written(doc) if isinstance(message, dict)]


def _written(doc: Document) -> list[Any]:
    """The messages as they are in the document: what clients wrote is kept when it is saved again."""
    messages = doc.get("messages")
    return messages if isinstance(messages, list) else []


def position_of(doc: Document, question_id: str) -> int:
    """Raises NotFound."""
    for position, message in enumerate(messages_of(doc)):
        if message.get("id") == question_id:
            return position
    raise NotFound("the question is not in the conversation any more")


def is_answered(doc: Document, question_id: str) -> bool:
    """Whether the message right behind the question is the assistant's. Raises NotFound."""
    behind = position_of(doc, question_id) + 1
    return any(message.get("role") == "assistant" for message in messages_of(doc)[behind : behind + 1])


def find_question(store: Store, instance: Instance, conversation_id: str, message_id: str = "") -> Question:
    """The question of a conversation that has this id, else the last one. Raises NotFound."""
    if conversation_id.startswith("_"):
        raise NotFound("there is no such conversation")
    messages = messages_of(store.get(instance, CONVERSATIONS, conversation_id))
    for message in reversed(messages):
        if (question_id := _question_id(message)) and message_id in ("", question_id):
            return Question(instance.domain, conversation_id, question_id)
    raise NotFound("there is no such question in this conversation")


def waiting_question(doc: Document) -> str | None:
    """The question that was asked last, when no answer is behind it."""
    last = messages_of(doc)[-1:]
    return _question_id(last[0]) if last else None


def _question_id(message: Message) -> str | None:
    """None for what is no question, or was written without an id: the history without one is the whole instance's."""
    question_id = message.get("id")
    return question_id if message.get("role") in QUESTIONS and question_id and isinstance(question_id, str) else None


def action_of(message: Message) -> Message | None:
    """The action that a message of the assistant proposes."""
    action = message.get("action")
    well_made = isinstance(action, dict) and isinstance(action.get("name"), str)
    return action if message.get("role") == "assistant" and well_made else None


def answered_action(message: Message) -> str | None:
    """The id of the message whose action this one is the result of."""
    result = message.get("result")
    named = result.get("messageID") if message.get("role") == "tool" and isinstance(result, dict) else None
    return named if isinstance(named, str) else None


def assistant_id_of(doc: Document) -> str | None:
    data = related(doc, "assistant")
    assistant_id = data.get("_id") if isinstance(data, dict) else None
    return assistant_id if isinstance(assistant_id, str) else None


def attributes_of(doc: Document) -> Document:
    """The attributes of the JSON:API document: relationships with `id` and `type` for `_id` and `_type`."""
    attributes = {key: value for key, value in doc.items() if not key.startswith("_")}
    if assistant_id := assistant_id_of(doc):
        related = {"assistant": {"data": {"id": assistant_id, "type": ASSISTANTS}}}
        attributes["relationships"] = {**doc["relationships"], **related}
    return attributes


def _new_conversation(assistant_id: str, created_on: str, surface: str, history: Sequence[Message]) -> Document:
    metadata = {"doctypeVersion": "1", "metadataVersion": 1, "createdAt": units.now(), "createdOn": created_on}
    doc: Document = {"messages": [*history], "cozyMetadata": metadata} | ({"surface": surface} if surface else {})
    if assistant_id:
        doc["relationships"] = {"assistant": {"data": {"_id": assistant_id, "_type": ASSISTANTS}}}
    return doc


def _touched(doc: Document, messages: list[Any]) -> Document:
    return {**doc, "messages": messages, "cozyMetadata": {**_metadata(doc), "updatedAt": units.now()}}


def _is_made_with(question: Message, doc: Document) -> bool:
    """By their dates, either of which a client may have written anew meanwhile."""
    asked, made = question.get("createdAt"), _metadata(doc).get("createdAt")
    return isinstance(asked, str) and isinstance(made, str) and made >= asked


def _metadata(doc: Document) -> Document:
    metadata = doc.get("cozyMetadata")
    return metadata if isinstance(metadata, dict) else {}


def _saved(doc: Document | None) -> Document:
    assert doc is not None  # noqa: S101  (only a change that gives None saves nothing)
    return doc
