"""Tool calls of a completion, put together from the fragments that it is streamed in.

The shapes are those of `contracts/openrag.md`, Chat: gateways repeat names, leave ids and indexes out, give the same
index to two calls. An unstreamed answer is the same with whole calls.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ragcore.units import well_formed

Json = dict[str, Any]

MAX_CHARACTERS = 16 << 20  # of all fragments of a completion: their arguments, names and ids
MAX_CALLS = 1000
_LONGEST = 310  # characters of an integer: no double is larger


@dataclass(frozen=True)
class Call:
    """A call as it has come so far. `arguments` is the text of a JSON value, empty when there is none."""

    id: str
    name: str
    arguments: str

    def parsed(self) -> Json | None:
        """The arguments; `null` and nothing are `{}`. None when they are no JSON object, or not a whole one."""
        if not self.arguments.strip():
            return {}
        try:
            value = json.loads(self.arguments, parse_int=_integer)
        except (ValueError, RecursionError):
            return None
        if value is None:
            return {}
        return value if isinstance(value, dict) else None


@dataclass
class Calls:
    """Takes the fragments of one completion, in their order."""

    _calls: list["_Growing"] = field(default_factory=list)
    _latest: dict[tuple[int | None, str], "_Growing"] = field(default_factory=dict)  # by index and id, if any
    _size: int = 0

    def take(self, fragments: Iterable[Json]) -> None:
        """Beyond the limits nothing more is taken: a call that is not whole by then stays so."""
        for fragment in map(_Fragment.parse, fragments):
            if fragment.size and self._size <= MAX_CHARACTERS and len(self._calls) <= MAX_CALLS:
                self._size += fragment.size
                self._call_of(fragment).add(fragment)

    def first(self) -> Call | None:
        """The call that counts: the first by index, then as they came."""
        first = min(self._calls, key=lambda call: call.index, default=None)
        return first.call() if first else None

    def all(self) -> list[Call]:
        """In the same order."""
        return [growing.call() for growing in sorted(self._calls, key=lambda call: call.index)]

    def _call_of(self, fragment: "_Fragment") -> "_Growing":
        """By index, of the calls with one index by id; without an index by id, else the last call."""
        index, call_id = fragment.index, fragment.id
        known = self._latest.get((index, call_id)) or self._latest.get((index, ""))
        if known is None or known.is_another(fragment):
            known = _Growing(index or 0)
            self._calls.append(known)
        self._latest |= {(i, c): known for i in (index, None) for c in (call_id, "")}
        return known


@dataclass(frozen=True)
class _Fragment:
    index: int | None
    id: str
    name: str
    arguments: str

    @classmethod
    def parse(cls, entry: Json) -> "_Fragment":
        index, function = entry.get("index"), entry.get("function")
        function = function if isinstance(function, dict) else {}
        return cls(
            index if isinstance(index, int) else None,
            _text(entry.get("id")),
            _text(function.get("name")),
            _arguments(function.get("arguments")),
        )

    @property
    def size(self) -> int:
        """In characters; 0 for one that says nothing, which begins no call."""
        return len(self.id) + len(self.name) + len(self.arguments)


@dataclass
class _Growing:
    """A call that fragments are still added to."""

    index: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    end: str = ""  # the last character of the arguments that is not blank

    def add(self, fragment: _Fragment) -> None:
        self.id = self.id or fragment.id
        self.name = self.name or fragment.name
        if fragment.arguments:
            self.pieces.append(fragment.arguments)
            self.end = fragment.arguments.rstrip()[-1:] or self.end

    def is_another(self, fragment: _Fragment) -> bool:
        """Whether a fragment with the same index begins a call of its own.

        A changed id alone does not say so: some gateways give each fragment a new one, but the name only once.
        """
        if fragment.name and self.name and fragment.name != self.name:
            return True
        if fragment.name and fragment.id and self.id and fragment.id != self.id:
            return True
        return self.end == "}" and fragment.arguments.lstrip().startswith("{") and self.call().parsed() is not None

    def call(self) -> Call:
        self.pieces = ["".join(self.pieces)]  # to be joined once only, however often it is asked for
        return Call(well_formed(self.id), well_formed(self.name), self.pieces[0])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """Arguments that came as a JSON value are text again, so that all are bounded and parsed alike."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value) if value not in (None, {}) else ""
    except RecursionError:
        return "["  # no arguments of a tool are nested so deeply: they are not whole


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _LONGEST else math.inf
