"""Cozy's words for when a trigger may be due: `on monday and thursday between 8am and 6pm`, `on the 1 before 5am`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ragcore.errors import Invalid

HOURLY, DAILY, WEEKLY, MONTHLY = FREQUENCIES = ("@hourly", "@daily", "@weekly", "@monthly")
_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_GROUPS = {"weekday": (1, 2, 3, 4, 5), "weekend": (0, 6)}
_DAYS = {WEEKLY: tuple(range(7)), MONTHLY: tuple(range(1, 29))}  # every month has 28 days
_HOUR = re.compile(r"(0?[1-9]|1[0-2])(am|pm)", re.ASCII)


@dataclass(frozen=True)
class Words:
    """Days of the month, or of the week (0 is Sunday); hours from `after` on, and before `before`."""

    days: tuple[int, ...] = ()
    after: int = 0
    before: int = 24


def parse(frequency: str, text: str) -> Words:
    """Raises Invalid."""
    words = text.lower().split()
    said: dict[str, Any] = {}
    while words:
        clause = _clause(frequency, words)
        if twice := said.keys() & clause.keys():
            raise Invalid(f"{' and '.join(sorted(twice))}: said twice")
        said |= clause
    found = Words(**{"days": _DAYS.get(frequency, ())} | said)
    if found.after >= found.before:
        raise Invalid("the hours must be of one day, the earlier one first")
    return found


def _clause(frequency: str, words: list[str]) -> dict[str, Any]:
    match _next(words):
        case "on":
            return {"days": _days(frequency, words)}
        case "after":
            return {"after": _hour(words)}
        case "before":
            return {"before": _hour(words) or 24}
        case "between":
            after = _hour(words)
            _expect("and", words)
            return {"after": after, "before": _hour(words) or 24}
        case word:
            raise Invalid(f"{word!r} is not understood (write: on monday, on the 1, between 8am and 6pm)")


def _next(words: list[str]) -> str:
    if not words:
        raise Invalid("something is missing at the end")
    return words.pop(0)


def _expect(expected: str, words: list[str]) -> None:
    if (word := _next(words)) != expected:
        raise Invalid(f"{word!r} stands where {expected!r} should")


def _hour(words: list[str]) -> int:
    word = _next(words)
    hour = _HOUR.fullmatch(word)
    if not hour:
        raise Invalid(f"{word!r} is no hour (write 8am, 12pm or 6pm)")
    return int(hour[1]) % 12 + (12 if hour[2] == "pm" else 0)


def _days(frequency: str, words: list[str]) -> tuple[int, ...]:
    if frequency == MONTHLY:
        _expect("the", words)
        read = _of_the_month
    elif frequency == WEEKLY:
        read = _of_the_week
    else:
        raise Invalid(f"{frequency} takes no days: @weekly and @monthly do")
    days = read(_next(words))
    while words[:1] == ["and"]:
        words.pop(0)
        days |= read(_next(words))
    return tuple(sorted(days))


def _of_the_month(text: str) -> set[int]:
    def days(first: int, last: int) -> range:
        if first >= last:
            raise Invalid(f"{first}-{last}: the earlier day comes first")
        return range(first, last + 1)

    return _listed(text, _day_of_month, days)


def _of_the_week(text: str) -> set[int]:
    """A range may go over the end of the week: `fri-mon`."""

    def days(first: int, last: int) -> set[int]:
        if first == last:
            raise Invalid("a range of one day")
        return {(first + n) % 7 for n in range((last - first) % 7 + 1)}

    parts = text.split(",")
    named = {day for part in parts for day in _GROUPS.get(part, ())}
    others = [part for part in parts if part not in _GROUPS]
    return named | (_listed(",".join(others), _day_of_week, days) if others else set())


def _listed(text: str, read: Callable[[str], int], between: Callable[[int, int], Any]) -> set[int]:
    """`1,3,5-7`"""
    days: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        days |= set(between(read(first), read(last))) if dash else {read(first)}
    return days


def _day_of_month(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,2}", text) or not 1 <= int(text) <= 31:
        raise Invalid(f"{text!r} is no day of a month")
    return int(text)


def _day_of_week(text: str) -> int:
    for number, name in enumerate(_NAMES):
        if text in (name, name[:3]):
            return number
    raise Invalid(f"{text!r} is no day of the week")
