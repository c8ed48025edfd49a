"""When a trigger is due: `@cron`, `@every`, `@hourly`, `@daily`, `@weekly`, `@monthly`, `@at`, `@in`. All in UTC.

Nothing here looks at a clock: a due time follows from the trigger alone, so every process comes to the same.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Protocol

from cronsim import CronSim, CronSimError

from ragcore.errors import Invalid
from ragcore.triggers.words import FREQUENCIES, HOURLY, MONTHLY, WEEKLY, Words
from ragcore.triggers.words import parse as parse_words
from ragcore.units import parse_duration

KINDS = ("@cron", "@every", *FREQUENCIES, "@at", "@in")
SHORTEST = 1.0  # seconds between two due times
AT_ONCE = timedelta(milliseconds=1)
LONGEST = 10 * 366 * 86400.0  # seconds of any duration
_VALUE = r"(?:[0-9]{1,2}|[A-Za-z]{3})"
_ITEM = rf"(?:[*?]|{_VALUE}(?:-{_VALUE})?)(?:/[0-9]{{1,4}})?"
_FIELD = re.compile(rf"{_ITEM}(?:,{_ITEM})*", re.ASCII)


class Schedule(Protocol):
    @property
    def periodic(self) -> bool:
        """Whether it is due again and again; a trigger that is not is removed once it was fired."""

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time after a moment, None when there is none."""


@dataclass(frozen=True)
class Cron:
    """Six fields: second, minute, hour, day of the month, month, day of the week."""

    line: str
    periodic: bool = True

    def next_after(self, moment: datetime) -> datetime | None:
        try:
            return next(CronSim(self.line, moment.astimezone(UTC)), None)
        except OverflowError:  # the calendar ends
            return None


@dataclass(frozen=True)
class Every:
    """Each `period` after `since`, and before it, should the clock have been set back: whoever asks, and when, sees the
    same due times."""

    period: timedelta
    since: datetime
    periodic: bool = True

    def next_after(self, moment: datetime) -> datetime | None:
        passed = (moment - self.since) // self.period
        try:
            return self.since + (passed + 1) * self.period
        except OverflowError:
            return None


@dataclass(frozen=True)
class Once:
    at: datetime
    periodic: bool = False

    def next_after(self, moment: datetime) -> datetime | None:
        return self.at if self.at > moment else None


def parse(kind: str, arguments: str, trigger_id: str, since: datetime) -> Schedule:
    """The schedule of a trigger that was made at `since`. Raises Invalid."""
    match kind:
        case "@cron":
            return cron(arguments)
        case "@every":
            return Every(_duration(arguments, SHORTEST), since)
        case "@in":
            return _once(since + _duration(arguments, 0), since)
        case "@at":
            return _once(_moment(arguments), since)
        case _ if kind in FREQUENCIES:
            return _spread(kind, parse_words(kind, arguments), trigger_id)
    raise Invalid(f"{kind!r} is no kind of trigger")


def _once(at: datetime, since: datetime) -> Once:
    """What was over when the trigger was made is due at once."""
    return Once(max(at, since + AT_ONCE))


def cron(line: str) -> Cron:
    """Raises Invalid."""
    fields = line.split()
    if len(fields) != 6:
        raise Invalid("a @cron line has six fields, the seconds first: 0 30 4 * * * is half past four, each day")
    for n in (3, 5):
        fields[n] = fields[n].replace("?", "*")
    read = Cron(" ".join(fields))
    try:
        if all(_FIELD.fullmatch(field) for field in fields) and next(CronSim(read.line, datetime(2000, 1, 1)), None):
            return read
    except CronSimError as error:
        raise Invalid(f"this @cron line cannot be read: {error}") from None
    raise Invalid("this @cron line cannot be read, or is never due")


def _duration(text: str, shortest: float) -> timedelta:
    try:
        seconds = parse_duration(text.strip())
    except ValueError as error:
        raise Invalid(str(error)) from None
    if not shortest <= seconds <= LONGEST:
        raise Invalid(f"a duration is at least {shortest:g} s, and at most ten years")
    return timedelta(seconds=seconds)


def _moment(text: str) -> datetime:
    """A date without a zone is one of UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(f"{text!r} is not a date as ISO 8601 has it (write 2026-12-24T18:00:00Z)") from None


def _spread(frequency: str, words: Words, trigger_id: str) -> Cron:
    """One due time an hour, a day, a week or a month, the same for ever. It is taken out of those that the words
    leave by the trigger's id, so that the instances do not all come at once."""
    number = int.from_bytes(sha256(trigger_id.encode()).digest())

    def pick(count: int) -> int:
        nonlocal number
        number, picked = divmod(number, count)
        return picked

    second, minute = pick(60), pick(60)
    if frequency == HOURLY:
        return Cron(f"{second} {minute} {words.after}-{words.before - 1} * * *")
    hour = words.after + pick(words.before - words.after)
    day = words.days[pick(len(words.days))] if words.days else "*"
    days = {MONTHLY: f"{day} * *", WEEKLY: f"* * {day}"}.get(frequency, "* * *")
    return Cron(f"{second} {minute} {hour} {days}")
