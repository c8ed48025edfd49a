"""What the LLM is sent: the conversation as the OpenAI API has it, and what openRAG takes beside it."""

from typing import Any

from ragcore.chat.assistants import Scope
from ragcore.chat.conversations import Message, messages_of, position_of
from ragcore.jobs import AnswerJob
from ragcore.openrag.names import model_of
from ragcore.store import Document

Json = dict[str, Any]


def completion(conversation: Document, job: AnswerJob, scope: Scope) -> Json:
    """The body of POST /v1/chat/completions. Without the documents there is no model: the LLM alone."""
    position = position_of(conversation, job.question_id)
    asked = messages_of(conversation)[: position + 1]
    model = {"model": model_of(job.domain)} if job.documents else {}
    return {
        **model,
        "messages": [*_system(scope.prompt, job.instructions), *_history(asked)],
        "stream": job.stream,
        "metadata": _metadata(asked[-1], job, scope),
    }


def _system(*texts: str) -> list[Json]:
    """The leading system messages: the assistant's prompt, then the client's instructions."""
    return [{"role": "system", "content": text} for text in texts if text.strip()]


def _history(asked: list[Message]) -> list[Json]:
    """The answered questions and their answers, then the question; one that got no answer is left out."""
    following = [*asked[1:], {"role": "assistant"}]  # the last is the one to answer
    kept = [
        message
        for message, after in zip(asked, following, strict=True)
        if message.get("role") == "assistant" or (message.get("role") == "user" and after.get("role") == "assistant")
    ]
    return [{"role": message["role"], "content": _text(message.get("content"))} for message in kept]


def _metadata(question: Message, job: AnswerJob, scope: Scope) -> Json:
    metadata: Json = {"websearch": job.websearch}
    if scope.workspace:
        metadata["workspace"] = scope.workspace
    if attachments := question.get("attachmentIDs"):
        metadata["attachments"] = [{"id": file_id} for file_id in attachments]
    return metadata


def _text(content: Any) -> str:
    return content if isinstance(content, str) else ""
