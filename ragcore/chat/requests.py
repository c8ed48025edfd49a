"""The body of POST /ai/chat/conversations/:id, checked."""

from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from ragcore.errors import Invalid

MAX_INSTRUCTIONS = 2000  # characters

_IDS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_SCHEMA = {
    "type": "object",
    "properties": {
        "q": {"type": "string", "pattern": r"\S"},
        "stream": {"type": "boolean"},
        "websearch": {"type": "boolean"},
        "documents": {"type": "boolean"},
        "instructions": {"type": "string", "maxLength": MAX_INSTRUCTIONS},
        "assistantID": {"type": "string", "minLength": 1},
        "attachmentIDs": _IDS,
    },
    "required": ["q"],
}
_VALIDATOR = Draft202012Validator(_SCHEMA)
_SAID = {  # in words for people, where the validator's own are not
    "pattern": "must hold at least one character that is no white space",
    "maxLength": f"must have at most {MAX_INSTRUCTIONS} characters",
    "minLength": "must not be empty",
}


@dataclass(frozen=True)
class ChatRequest:
    q: str
    stream: bool = True
    websearch: bool = False
    documents: bool = True
    instructions: str = ""
    assistant_id: str = ""
    attachment_ids: tuple[str, ...] = ()

    @classmethod
    def parse(cls, body: Any) -> "ChatRequest":
        """`null` is an absent field, one that nobody knows is ignored. Raises Invalid."""
        given = {k: v for k, v in body.items() if v is not None} if isinstance(body, dict) else body
        if error := next(iter(_VALIDATOR.iter_errors(given)), None):
            raise Invalid(*_explain(error))
        if given.get("attachmentIDs") and not given.get("documents", True):
            raise Invalid("attachmentIDs are read from the documents: documents cannot be false", "/attachmentIDs")
        return cls(
            q=given["q"],
            stream=given.get("stream", True),
            websearch=given.get("websearch", False),
            documents=given.get("documents", True),
            instructions=given.get("instructions", ""),
            assistant_id=given.get("assistantID", ""),
            attachment_ids=tuple(given.get("attachmentIDs", ())),
        )


def _explain(error: Any) -> tuple[str, str]:
    """The message and the JSON pointer of a validation error."""
    path = [str(part) for part in error.absolute_path]
    if error.validator == "required":
        return "q is required", "/q"
    if error.validator == "type":
        words = f"must be of the type {error.validator_value}"
    else:
        words = _SAID[error.validator]
    return f"{'.'.join(path) or 'the body'} {words}", "".join(f"/{part}" for part in path)
