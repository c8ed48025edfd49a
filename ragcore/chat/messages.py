"""What the LLM is sent: the conversation as the OpenAI API has it, and what openRAG takes beside it."""

import json
from collections.abc import Sequence
from itertools import dropwhile
from typing import Any

from ragcore.chat.assistants import Scope
from ragcore.chat.conversations import Message, action_of, answered_action, messages_of, position_of
from ragcore.chat.tools import Tool, llm_tools, rules
from ragcore.jobs import AnswerJob
from ragcore.openrag.names import model_of
from ragcore.store import Document

Json = dict[str, Any]

MOST_RESULTS = 5  # since the user's last message; then no tools are given
ORPHAN = "(Result of an action, given by the app, not written by the user:)"
NO_CONTENT = "Done."
NO_ERROR = "the app could not run the action."


def asked(conversation: Document, question_id: str) -> list[Message]:
    """The messages up to the question. Raises NotFound."""
    return messages_of(conversation)[: position_of(conversation, question_id) + 1]


def may_have_tools(messages: Sequence[Message]) -> bool:
    return len([message for message in _round(messages) if message.get("role") == "tool"]) < MOST_RESULTS


def written(messages: Sequence[Message]) -> list[str]:
    """What the user typed."""
    return [_text(message) for message in messages if message.get("role") == "user"]


def completion(
    messages: Sequence[Message], job: AnswerJob, scope: Scope, tools: Sequence[Tool] = (), single_call: bool = False
) -> Json:
    """The body of POST /v1/chat/completions. Without the documents there is no model: the LLM alone."""
    model = {"model": model_of(job.domain)} if job.documents else {}
    system = [scope.prompt, job.instructions, rules() if tools else ""]
    return {
        **model,
        "messages": [*_system(system), *_history(messages)],
        **(_tools(tools, single_call) if tools else {}),
        "stream": job.stream,
        **({"stream_options": {"include_usage": True}} if job.stream else {}),
        "metadata": _metadata(messages, job, scope),
    }


def _tools(tools: Sequence[Tool], single_call: bool) -> Json:
    # some gateways refuse the parameter: it is sent only where it is asked for
    single = {"parallel_tool_calls": False} if single_call else {}
    return {"tools": llm_tools(tools), "tool_choice": "auto", **single}


def _system(texts: list[str]) -> list[Json]:
    """The leading system messages: the assistant's prompt, the client's instructions, the rules of the tools."""
    return [{"role": "system", "content": text} for text in texts if text.strip()]


def _history(messages: Sequence[Message]) -> list[Json]:
    """The answered questions, their answers and all results, then the question.

    Leading system messages are left out: openRAG would take them for ours.
    """
    calls = _answered_calls(messages)
    following = [*messages[1:], {"role": "assistant"}]  # the last is the one to answer
    kept = [
        _sent(message, calls.get(place))
        for place, (message, after) in enumerate(zip(messages, following, strict=True))
        if message.get("role") in ("assistant", "tool", "system")
        or (message.get("role") == "user" and after.get("role") == "assistant")
    ]
    return list(dropwhile(lambda message: message["role"] == "system", kept))


def _answered_calls(messages: Sequence[Message]) -> dict[int, str]:
    """The ids of the calls that have their result, by the places of the actions and of the results.

    A result counts once, behind its action, whatever stands between the two.
    """
    calls: dict[int, str] = {}
    open_calls: dict[str, tuple[int, str]] = {}
    for place, message in enumerate(messages):
        message_id = _text(message, "id")
        if action := action_of(message):
            open_calls[message_id] = place, _text(action, "toolCallId") or f"call_{message_id}"
        elif (of := answered_action(message)) in open_calls:
            proposed_at, call_id = open_calls.pop(of)
            calls |= {proposed_at: call_id, place: call_id}
    return calls


def _sent(message: Message, call_id: str | None) -> Json:
    if message["role"] == "tool":
        if call_id is None:
            return {"role": "user", "content": f"{ORPHAN}\n{_outcome(message)}"}
        return {"role": "tool", "tool_call_id": call_id, "content": _outcome(message)}
    if action := action_of(message):
        return _proposal(message, action, call_id)
    return {"role": message["role"], "content": _text(message)}


def _proposal(message: Message, action: Message, call_id: str | None) -> Json:
    name, params = action["name"], json.dumps(action.get("params") or {}, ensure_ascii=False)
    if call_id is None:
        words = f"(Proposed to the user: {name} {params})"
        return {"role": "assistant", "content": "\n\n".join(filter(None, [words, _text(message)]))}
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": params}}
    return {"role": "assistant", "content": _text(message), "tool_calls": [call]}


def _outcome(message: Message) -> str:
    """What the action gave: data, like a document."""
    content = _text(message)
    result = message.get("result")
    failed = isinstance(result, dict) and result.get("ok") is False
    return f"Error: {content or NO_ERROR}" if failed else content or NO_CONTENT


def _metadata(messages: Sequence[Message], job: AnswerJob, scope: Scope) -> Json:
    metadata: Json = {"websearch": job.websearch}
    if scope.workspace:
        metadata["workspace"] = scope.workspace
    # those of the user's last message apply to the answers that follow its results
    if job.documents and (attachments := _attachments(next(iter(_round(messages)), {}))):
        metadata["attachments"] = [{"id": file_id} for file_id in attachments]
    if scope.llm_override:
        metadata["llm_override"] = scope.llm_override
    return metadata


def _attachments(message: Message) -> list[str]:
    ids = message.get("attachmentIDs")
    return [file_id for file_id in ids if isinstance(file_id, str)] if isinstance(ids, list) else []


def _round(messages: Sequence[Message]) -> Sequence[Message]:
    """The user's last message and what is behind it."""
    asked_at = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    return messages[asked_at[-1] if asked_at else 0 :]


def _text(message: Message, name: str = "content") -> str:
    content = message.get(name)
    return content if isinstance(content, str) else ""
