"""The body of POST /v1/chat/completions, checked. What OpenAI's API has beside it is taken, and means nothing here."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any

from jsonschema import Draft202012Validator

from ragcore.chat.conversations import new_message
from ragcore.chat.requests import MAX_INSTRUCTIONS, ChatRequest
from ragcore.errors import Invalid
from ragcore.grounded.prompt import WINDOW
from ragcore.v1 import V1

Json = dict[str, Any]

STYLE = ("system", "developer")  # the roles whose texts colour the style
_NO_TOOLS = "tools are not offered"
_ROLES = [*STYLE, "user", "assistant"]

# `said` is no keyword of JSON schema: it says in words for people what its schema asks for
_PART = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
    "required": ["type", "text"],
}
_MESSAGE = {
    "type": "object",
    "said": "a message must be an object with a role and a content",
    "properties": {
        "role": {"enum": _ROLES, "said": f"role must be one of {', '.join(_ROLES)}: {_NO_TOOLS}"},
        "content": {
            "anyOf": [{"type": "string"}, {"type": "array", "items": _PART}],
            "said": "content must be a text, or parts of the type text: images, audio and files are not taken",
        },
    },
    "required": ["role", "content"],
}
_TEXT = {"type": "string", "minLength": 1}
_SCHEMA = {
    "type": "object",
    "said": "the body must be an object with model and messages",
    "properties": {
        "model": {**_TEXT, "said": "model must be a text: GET /v1/models lists them"},
        "messages": {"type": "array", "minItems": 1, "items": _MESSAGE, "said": "messages must be a list with one"},
        "stream": {"type": "boolean", "said": "stream must be true or false"},
        "stream_options": {
            "type": "object",
            "properties": {"include_usage": {"type": ["boolean", "null"], "said": "include_usage is true or false"}},
            "said": "stream_options must be an object",
        },
        "n": {"const": 1, "said": "n must be 1: one answer is given"},
        "tools": {"type": "array", "maxItems": 0, "said": _NO_TOOLS},
        "functions": {"type": "array", "maxItems": 0, "said": _NO_TOOLS},
        "response_format": {
            "type": "object",
            "properties": {"type": {"const": "text", "said": "the answer is text, with citations, and nothing else"}},
            "said": "response_format must be an object",
        },
        "metadata": {
            "type": "object",
            "properties": {"conversation_id": {**_TEXT, "said": "conversation_id must be a text, not an empty one"}},
            "said": "metadata must be an object",
        },
    },
}
_VALIDATOR = Draft202012Validator(_SCHEMA)


@dataclass(frozen=True)
class CompletionRequest:
    """`messages` are those of the conversation, each a text, the last of them the question; `conversation_id` names
    the one to go on with."""

    model: str
    messages: tuple[tuple[str, str], ...]
    instructions: str = ""
    conversation_id: str = ""
    stream: bool = False
    include_usage: bool = False

    @classmethod
    def parse(cls, body: Any) -> "CompletionRequest":
        """`null` is an absent field. Raises Invalid."""
        given = _without_nulls(body)
        if error := next(iter(_VALIDATOR.iter_errors(given)), None):
            raise Invalid(error.schema["said"], "".join(f"/{part}" for part in error.absolute_path))
        for name in ("model", "messages"):
            if name not in given:
                raise Invalid(f"{name} is required", f"/{name}")
        messages = [(message["role"], _text(message["content"])) for message in given["messages"]]
        _check_last(messages)
        return cls(
            model=given["model"],
            messages=tuple(_said(messages)),
            instructions=_instructions(messages),
            conversation_id=given.get("metadata", {}).get("conversation_id", ""),
            stream=given.get("stream", False),
            include_usage=bool(given.get("stream_options", {}).get("include_usage")),
        )

    def question(self, assistant_id: str) -> ChatRequest:
        """With what was said before, for a conversation that is new: as much as the LLM is sent of it."""
        (*before, (_, question)) = self.messages
        return ChatRequest(
            q=question,
            assistant_id=assistant_id,
            instructions=self.instructions,
            surface=V1,
            history=tuple(new_message(role, text, given=True) for role, text in before[-2 * WINDOW :]),
        )


def _without_nulls(body: Any) -> Any:
    """Of the body and of its metadata."""
    if not isinstance(body, dict):
        return body
    given = {key: value for key, value in body.items() if value is not None}
    if isinstance(metadata := given.get("metadata"), dict):
        given["metadata"] = {key: value for key, value in metadata.items() if value is not None}
    return given


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def _check_last(messages: list[tuple[str, str]]) -> None:
    role, text = messages[-1]
    where = f"/messages/{len(messages) - 1}"
    if role != "user":
        raise Invalid("the last message must be the user's", f"{where}/role")
    if not text.strip():
        raise Invalid("the last message must not be blank", f"{where}/content")


def _said(messages: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """By the user and the assistant, from the first question on: a greeting before it answers nothing."""
    said = ((role, text) for role, text in messages if role not in STYLE and text.strip())
    return dropwhile(lambda message: message[0] != "user", said)


def _instructions(messages: list[tuple[str, str]]) -> str:
    text = "\n".join(text for role, text in messages if role in STYLE)
    if len(text) > MAX_INSTRUCTIONS:
        first = next(place for place, (role, _) in enumerate(messages) if role in STYLE)
        said = f"system and developer messages may have {MAX_INSTRUCTIONS} characters together"
        raise Invalid(said, f"/messages/{first}/content")
    return text
