"""The days that budgets are for: those of UTC. A question is of the day on which it was asked."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ragcore.units import isoformat


@dataclass(frozen=True)
class Day:
    """`date` is its name, `2026-12-02`: what the dates of its messages begin with."""

    date: str

    @classmethod
    def of(cls, at: float) -> "Day":
        """The day of a Unix time."""
        return cls(datetime.fromtimestamp(at, UTC).date().isoformat())

    @property
    def _begin(self) -> datetime:
        return datetime.fromisoformat(self.date).replace(tzinfo=UTC)

    @property
    def begins(self) -> float:
        """Unix time."""
        return self._begin.timestamp()

    @property
    def began_at(self) -> str:
        return isoformat(self._begin)

    @property
    def reset_at(self) -> str:
        """Where the next one begins."""
        return isoformat(self._begin + timedelta(days=1))

    @property
    def before(self) -> "Day":
        return Day((self._begin - timedelta(days=1)).date().isoformat())
