"""The bodies of the routes of grounded answers, checked."""

import uuid
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from ragcore.chat.accept import check_id
from ragcore.chat.requests import MAX_INSTRUCTIONS, ChatRequest
from ragcore.errors import Invalid
from ragcore.grounded import ASK

LONGEST_TITLE = 200  # characters
_NO_TEXT = "{} must be a text, not an empty one"


@dataclass(frozen=True)
class AskRequest:
    """A question of a surface other than the chat."""

    conversation_id: str
    request: ChatRequest

    @classmethod
    def parse(cls, body: Any, field: str = "question", surface: str = ASK) -> "AskRequest":
        """`null` is an absent field; a conversation that is not named is a new one. Raises Invalid."""
        given = {key: value for key, value in body.items() if value is not None} if isinstance(body, dict) else body
        if error := next(iter(Draft202012Validator(_schema(field)).iter_errors(given)), None):
            raise Invalid(error.schema["said"], "".join(f"/{part}" for part in error.absolute_path))
        if field not in given:
            raise Invalid(f"{field} is required", f"/{field}")
        conversation_id = given.get("conversationId") or uuid.uuid4().hex
        check_id(conversation_id)
        request = ChatRequest(
            q=given[field],
            assistant_id=given.get("assistantID", ""),
            instructions=given.get("instructions", ""),
            surface=surface,
        )
        return cls(conversation_id, request)


def _schema(field: str) -> dict[str, Any]:
    """`said` is no keyword of JSON schema: it says in words for people what its schema asks for."""
    return {
        "type": "object",
        "said": "the body must be an object",
        "properties": {
            field: {"type": "string", "pattern": r"\S", "said": f"{field} must be a text that is not blank"},
            "conversationId": {"type": "string", "minLength": 1, "said": _NO_TEXT.format("conversationId")},
            "assistantID": {"type": "string", "minLength": 1, "said": _NO_TEXT.format("assistantID")},
            "instructions": {
                "type": "string",
                "maxLength": MAX_INSTRUCTIONS,
                "said": f"instructions must be a text of at most {MAX_INSTRUCTIONS} characters",
            },
        },
    }


def title_in(body: Any) -> str:
    """The title that a conversation is given. Raises Invalid."""
    title = body.get("title") if isinstance(body, dict) else None
    if not isinstance(title, str) or not title.strip() or len(title) > LONGEST_TITLE:
        raise Invalid(f"title must be a text of 1 to {LONGEST_TITLE} characters that is not blank", "/title")
    return title.strip()
