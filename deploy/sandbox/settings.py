"""What a running server can be told: from the environment at start, by the control route later."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from deploy.sandbox.errors import Invalid

PutWorkspaces = Literal["keep", "honour", "drop"]


@dataclass
class Settings:
    """Delays are in seconds, `context_size` in tokens (counted as 4 characters), `max_file_size` in bytes.

    `swap` names the partitions that refuse uploads because they are being re-embedded. `quota` is a number
    of files per partition. `put_workspaces` is what a PUT does to the memberships of a file; `legacy` gives
    the shapes of a server before 2.3; `global_workspace_ids` makes workspace ids unique over the server.
    """

    index_delay: float = 0.0
    call_delay: float = 0.0
    context_size: int = 131_072
    word_delay: float = 0.005
    swap: list[str] = field(default_factory=list)
    max_file_size: int | None = None
    quota: int | None = None
    put_workspaces: PutWorkspaces = "keep"
    legacy: bool = False
    global_workspace_ids: bool = False

    @classmethod
    def from_environment(cls) -> Self:
        return cls(index_delay=float(os.environ.get("SANDBOX_INDEX_DELAY") or 0))

    def update(self, values: dict[str, Any]) -> None:
        """Raises `Invalid` for an unknown name or a bad value, and then changes nothing."""
        for name, value in values.items():
            if name not in CHECKS:
                raise Invalid(("body", name), "Unknown setting")
            if not CHECKS[name](value):
                raise Invalid(("body", name), "Bad value")
        for name, value in values.items():
            setattr(self, name, value)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Llm:
    """An OpenAI-compatible server: `url` is the part before `/chat/completions`."""

    url: str
    model: str
    api_key: str

    @classmethod
    def from_environment(cls) -> "Llm | None":
        url = os.environ.get("SANDBOX_LLM_URL", "")
        if not url:
            return None
        return cls(url, os.environ.get("SANDBOX_LLM_MODEL", ""), os.environ.get("SANDBOX_LLM_API_KEY", ""))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def _is_count(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int)


def _is_count_or_none(value: Any) -> bool:
    return value is None or _is_count(value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


CHECKS: dict[str, Callable[[Any], bool]] = {
    "index_delay": _is_number,
    "call_delay": _is_number,
    "word_delay": _is_number,
    "context_size": _is_count,
    "swap": _is_names,
    "max_file_size": _is_count_or_none,
    "quota": _is_count_or_none,
    "put_workspaces": lambda value: value in ("keep", "honour", "drop"),
    "legacy": _is_bool,
    "global_workspace_ids": _is_bool,
}
