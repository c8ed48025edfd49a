"""The body of POST /ai/chat/conversations/:id, checked."""

from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from ragcore.chat.tools import Tool, parse_tools
from ragcore.errors import Invalid

Json = dict[str, Any]

MAX_INSTRUCTIONS = 2000  # characters
MAX_RESULT = 8000  # characters that are kept of the content of a result

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
        "result": {
            "type": "object",
            "properties": {
                "messageID": {"type": "string", "minLength": 1},
                "ok": {"type": "boolean"},
                "content": {"type": "string"},
            },
            "required": ["messageID", "ok"],
        },
    },
}
_VALIDATOR = Draft202012Validator(_SCHEMA)
_SAID = {  # in words for people, where the validator's own are not
    "pattern": "must hold at least one character that is no white space",
    "maxLength": f"must have at most {MAX_INSTRUCTIONS} characters",
    "minLength": "must not be empty",
}


@dataclass(frozen=True)
class Result:
    """What an action of the client gave: `content` is its error when it is not `ok`."""

    message_id: str
    ok: bool
    content: str = ""


@dataclass(frozen=True)
class ChatRequest:
    """A question in `q`, or the result of an action."""

    q: str = ""
    stream: bool = True
    websearch: bool = False
    documents: bool = True
    instructions: str = ""
    assistant_id: str = ""
    attachment_ids: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    result: Result | None = None
    surface: str = ""  # no field of the body: the route says it
    history: tuple[Json, ...] = ()  # nor this: the messages that a new conversation begins with

    @classmethod
    def parse(cls, body: Any) -> "ChatRequest":
        """`null` is an absent field, one that nobody knows is ignored. Raises Invalid."""
        given = _without_nulls(body)
        if isinstance(given, dict) and "result" in given:
            given["result"] = _without_nulls(given["result"])
        if error := next(iter(_VALIDATOR.iter_errors(given)), None):
            raise Invalid(*_explain(error))
        _check_together(given)
        field = "tools" if "tools" in given else "actions"
        return cls(
            q=given.get("q", ""),
            result=_result(given.get("result")),
            stream=given.get("stream", True),
            websearch=given.get("websearch", False),
            documents=given.get("documents", True),
            instructions=given.get("instructions", ""),
            assistant_id=given.get("assistantID", ""),
            attachment_ids=tuple(given.get("attachmentIDs", ())),
            tools=parse_tools(given.get(field), f"/{field}"),
        )


def _without_nulls(value: Any) -> Any:
    return {key: field for key, field in value.items() if field is not None} if isinstance(value, dict) else value


def _check_together(given: Json) -> None:
    """Which fields go with which others."""
    if "result" not in given:
        if "q" not in given:
            raise Invalid("q is required, or a result", "/q")
    elif "q" in given:
        raise Invalid("q and result cannot go together", "/q")
    elif given.get("attachmentIDs"):
        raise Invalid("attachmentIDs cannot go with a result", "/attachmentIDs")
    if given.get("attachmentIDs") and not given.get("documents", True):
        raise Invalid("attachmentIDs are read from the documents: documents cannot be false", "/attachmentIDs")


def _result(given: Json | None) -> Result | None:
    return Result(given["messageID"], given["ok"], given.get("content", "")[:MAX_RESULT]) if given else None


def _explain(error: Any) -> tuple[str, str]:
    """The message and the JSON pointer of a validation error."""
    path = [str(part) for part in error.absolute_path]
    if error.validator == "required":
        path.append(next(name for name in error.validator_value if name not in error.instance))
        return f"{'.'.join(path)} is required", "".join(f"/{part}" for part in path)
    if error.validator == "type":
        words = f"must be of the type {error.validator_value}"
    else:
        words = _SAID[error.validator]
    return f"{'.'.join(path) or 'the body'} {words}", "".join(f"/{part}" for part in path)
