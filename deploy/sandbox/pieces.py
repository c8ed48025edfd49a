"""What an answer is made of before it becomes server-sent events or one JSON object."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Delta:
    delta: Json


@dataclass(frozen=True)
class Chunk:
    """A whole `chat.completion.chunk`, sent as it is; `extra` is added where it has none."""

    chunk: Json


@dataclass(frozen=True)
class Raw:
    content: bytes


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Hold:
    """A pause until a test ends it."""

    is_over: Callable[[], bool]


@dataclass(frozen=True)
class Failure:
    """The LLM failed in the middle of its answer: the last thing but `[DONE]`."""

    error: Json


@dataclass(frozen=True)
class Cut:
    """The connection breaks here."""


@dataclass(frozen=True)
class End:
    """`finish` None: no last chunk with a `finish_reason`. `done` False: no `[DONE]`."""

    finish: str | None = "stop"
    done: bool = True
    extra: Json = field(default_factory=dict)
    usage: Json | None = None


Piece = Delta | Chunk | Raw | Pause | Hold | Failure | Cut | End
Pieces = Generator[Piece, None, None]
