"""A figure of the benchmark, beside what it is compared with, measured in the same run."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """What a figure is to reach: `factor` times the other one and `plus`, at most (or at least: more is better)."""

    text: str
    factor: float = 0.0
    plus: float = 0.0
    at_least: bool = False

    def limit(self, other: float) -> float:
        return self.factor * other + self.plus


def at_most(limit: float, text: str) -> Target:
    return Target(f"≤ {text}", plus=limit)


def more_by(limit: float, text: str) -> Target:
    """The figure is so much above the other one at most."""
    return Target(f"≤ {text} more", factor=1.0, plus=limit)


def times(factor: float) -> Target:
    return Target(f"≤ {factor:g} ×", factor)


def at_least_times(factor: float) -> Target:
    return Target(f"≥ {factor:g} ×", factor, at_least=True)


@dataclass(frozen=True)
class Row:
    """`value` and `other` have the same unit. `points` are those of a line of the chart: how a figure grows."""

    name: str
    value: float
    unit: str
    beside: str = ""
    other: float | None = None
    target: Target | None = None
    note: str = ""
    points: list[tuple[float, float]] = field(default_factory=list)

    @property
    def limit(self) -> float | None:
        return None if self.target is None else self.target.limit(self.other or 0.0)

    @property
    def share(self) -> float | None:
        """Of what is allowed, 1.0 being all of it."""
        if self.target is None or self.limit is None:
            return None
        above, below = (self.limit, self.value) if self.target.at_least else (self.value, self.limit)
        if below <= 0:
            return 0.0 if above <= 0 else float("inf")
        return above / below

    @property
    def holds(self) -> bool | None:
        return None if self.share is None else self.share <= 1
