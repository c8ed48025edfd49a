"""What a tool is: what the LLM is told of it, how its arguments are checked, what it gives."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator

from ragcore.errors import Invalid
from ragcore.grounded.way import Way
from ragcore.openrag import Passage
from ragcore.units import well_formed

Json = dict[str, Any]

LONGEST_SHOWN = 200  # characters of a text in a detail


@dataclass(frozen=True)
class Result:
    """`content` is for the LLM, `detail` for people. Passages are told with the numbers that they are given."""

    content: Json
    detail: Json
    passages: Sequence[Passage] = ()


@dataclass(frozen=True)
class Tool:
    """`properties` and `required` are those of a JSON schema. `grounds`: an answer may rest on its result alone.
    `one_by_one`: its calls see what the call before has written.
    """

    name: str
    description: str
    run: Callable[[Way, Json], Result]
    properties: Json = field(default_factory=dict)
    required: Sequence[str] = ()
    grounds: bool = True
    one_by_one: bool = False

    @property
    def schema(self) -> Json:
        required = {"required": list(self.required)} if self.required else {}
        return {"type": "object", "properties": self.properties, **required}

    def checked(self, arguments: Json | None) -> Json:
        """`null` is an absent argument, one that nobody knows is left out; `3.0` is 3. Raises Invalid."""
        if arguments is None:
            raise Invalid("the arguments are no whole JSON object")
        given = {name: _plain(arguments[name]) for name in self.properties if arguments.get(name) is not None}
        if error := next(iter(Draft202012Validator(self.schema).iter_errors(given)), None):
            raise Invalid(_said(error))
        return given


def definitions(tools: Iterable[Tool]) -> list[Json]:
    """The `tools` of a completion."""
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
        for t in tools
    ]


def shown(arguments: Json) -> Json:
    """Arguments as a detail."""
    return {name: value[:LONGEST_SHOWN] if isinstance(value, str) else value for name, value in arguments.items()}


def _plain(value: Any) -> Any:
    """A whole number as one, a text as one that can be sent."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return well_formed(value) if isinstance(value, str) else value


def _said(error: Any) -> str:
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"{missing} is required"
    name = str(next(iter(error.absolute_path), "the arguments"))
    return f"{name}: {error.message[:LONGEST_SHOWN]}"
