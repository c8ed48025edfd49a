"""The action that a tool call proposes: its arguments, checked against the schema of the tool.

The rules are those of the seed under "Chat actions": a value of another type than its param's is unknown, every param
is present, and a call that no action can be made of is dropped.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ragcore.chat.calls import Call
from ragcore.chat.tools import Param, Tool
from ragcore.chat.user_written import folded
from ragcore.errors import RagcoreError
from ragcore.units import well_formed

Json = dict[str, Any]
UserWritten = Callable[[str], str | None]  # a value as the user typed it; None: they did not

_LARGEST = sys.float_info.max  # beyond it, JSON has numbers that programs read as infinite


class Dropped(RagcoreError):
    """No action can be made of the call."""


@dataclass(frozen=True)
class Action:
    """`params` in the order of the schema. `tool_call_id` is empty when the LLM gave none."""

    name: str
    params: Json
    tool_call_id: str


def action_of(call: Call, tools: Iterable[Tool], user_written: UserWritten) -> Action:
    """Raises Dropped."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        raise Dropped("the LLM called a tool that is not known")
    arguments = call.parsed()
    if arguments is None:
        raise Dropped(f"the arguments of {tool.name} are no whole JSON object")
    params = {param.name: _value(param, arguments.get(param.name), user_written) for param in tool.params}
    for param in tool.params:
        if param.required and params[param.name] in ("", [], None):  # 0 and false are values
            raise Dropped(f"{tool.name} lacks a required param, or the user did not write it")
    return Action(tool.name, params, call.id)


def _value(param: Param, given: Any, user_written: UserWritten) -> Any:
    """`""`, `[]` or None when it is unknown."""
    match param.type:
        case "string":
            return next(iter(_texts(param, [given], user_written)), "")
        case "array":
            return _texts(param, given if isinstance(given, list) else [], user_written)
        case "boolean":
            return given if isinstance(given, bool) else None
        case "integer":
            return int(given) if _is_number(given) and given == int(given) else None
        case _:
            return given if _is_number(given) else None


def _texts(param: Param, given: list[Any], user_written: UserWritten) -> list[str]:
    """Trimmed, in order, without blanks and doubles; those of a user-written param told whatever their case."""
    trimmed = dict.fromkeys(well_formed(text).strip() for text in given if isinstance(text, str))
    texts = [text for text in trimmed if text]
    if not param.user_written:
        return texts
    first: dict[str, str] = {}
    for typed in filter(None, map(user_written, texts)):
        first.setdefault(folded(typed), typed)
    return list(first.values())


def _is_number(value: Any) -> bool:
    """NaN and the infinite are none, nor is a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST
