"""When triggers are due."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import Invalid
from ragcore.triggers.schedules import KINDS, Every, Once, Schedule, parse

MADE = datetime(2026, 3, 10, 9, 30, 15, 250_000, UTC)  # a Tuesday
moments = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
ids = st.text("0123456789abcdef", min_size=1, max_size=32)


def schedule(kind: str, arguments: str, trigger_id: str = "t1") -> Schedule:
    return parse(kind, arguments, trigger_id, MADE)


def due(kind: str, arguments: str, after: datetime = MADE) -> str:
    found = schedule(kind, arguments).next_after(after)
    return found.isoformat() if found else ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("* * * * * *", "2026-03-10T09:30:16+00:00"),
        ("*/20 * * * * *", "2026-03-10T09:30:20+00:00"),
        ("3/20 * * * * *", "2026-03-10T09:30:23+00:00"),
        ("0 0 * * * *", "2026-03-10T10:00:00+00:00"),
        ("0 0 0 * * *", "2026-03-11T00:00:00+00:00"),
        ("0 0 0 ? * 0", "2026-03-15T00:00:00+00:00"),
        ("0 0 0 * * 7", "2026-03-15T00:00:00+00:00"),
        ("0 0 0 ? * SUN", "2026-03-15T00:00:00+00:00"),
        ("0 0 0 1 * ?", "2026-04-01T00:00:00+00:00"),
        ("0 0 0 1 1 *", "2027-01-01T00:00:00+00:00"),
        ("0 30 4 * JAN,jul *", "2026-07-01T04:30:00+00:00"),
        ("0 0 9-17 * * mon-wed", "2026-03-10T10:00:00+00:00"),
        ("0 0 0 29 2 *", "2028-02-29T00:00:00+00:00"),
        ("  0  0 0 31 * * ", "2026-03-31T00:00:00+00:00"),
    ],
)
def test_a_cron_line_has_its_seconds_first(line: str, expected: str) -> None:
    assert due("@cron", line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "0 0 * * *",
        "0 0 0 * * * *",
        "60 * * * * *",
        "* * 24 * * *",
        "* * * 0 * *",
        "* * * * 13 *",
        "* * * * * 8",
        "*/0 * * * * *",
        "5-1 * * * * *",
        "? * * * * *",
        "0 0 0 30 2 *",
        "0 0 0 L * *",
        "0 0 0 * * MON#5",
        "0 0 0 * * 5L/2",
        "a b c d e f",
        "١ * * * * *",
        "@daily",
        "-1 * * * * *",
        f"{'9' * 5000} * * * * *",
    ],
)
def test_what_is_no_cron_line(line: str) -> None:
    with pytest.raises(Invalid):
        schedule("@cron", line)


def test_cron_lines_are_of_utc() -> None:
    eastern = MADE.astimezone(timezone(timedelta(hours=-5)))
    assert due("@cron", "0 0 12 * * *", eastern) == "2026-03-10T12:00:00+00:00"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("2s", "2026-03-10T09:30:17.250000+00:00"),
        ("1.5h", "2026-03-10T11:00:15.250000+00:00"),
        ("30m10s", "2026-03-10T10:00:25.250000+00:00"),
    ],
)
def test_every_duration_counts_from_when_the_trigger_was_made(arguments: str, expected: str) -> None:
    assert due("@every", arguments) == expected


@given(st.integers(1, 10**7), moments)
def test_due_times_of_every_duration_are_the_same_whoever_asks_and_when(seconds: int, moment: datetime) -> None:
    every = Every(timedelta(seconds=seconds), MADE)
    found = every.next_after(moment)
    assert found is not None
    assert found > moment
    assert (found - MADE) % every.period == timedelta(0)
    assert found - moment <= every.period


@pytest.mark.parametrize(
    ("kind", "arguments", "expected"),
    [
        ("@in", "10m", "2026-03-10T09:40:15.250000+00:00"),
        ("@in", "1h30m", "2026-03-10T11:00:15.250000+00:00"),
        ("@at", "2026-12-12T15:36:25.507Z", "2026-12-12T15:36:25.507000+00:00"),
        ("@at", "2026-12-12T15:36:25+02:00", "2026-12-12T13:36:25+00:00"),
        ("@at", "2026-12-12T15:36:25", "2026-12-12T15:36:25+00:00"),
        ("@at", " 20261212T153625Z ", "2026-12-12T15:36:25+00:00"),
        ("@at", "2018-12-12T15:36:25Z", "2026-03-10T09:30:15.251000+00:00"),
        ("@in", "0s", "2026-03-10T09:30:15.251000+00:00"),
    ],
)
def test_what_is_due_once(kind: str, arguments: str, expected: str) -> None:
    assert due(kind, arguments) == expected
    assert not schedule(kind, arguments).periodic
    assert due(kind, arguments, datetime.fromisoformat(expected)) == ""


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        *(("@every", duration) for duration in ("", "0", "0s", "500ms", "-1h", "1d", "10", "200000h", "9" * 400 + "h")),
        *(("@in", duration) for duration in ("", "-1h", "soon", "9" * 400 + "h")),
        *(("@at", moment) for moment in ("", "tomorrow", "2026-13-01T00:00:00Z", "12:00", "0001-01-01T00:00+02:00")),
        ("@event", "io.cozy.files"),
        ("@webhook", ""),
        ("daily", ""),
    ],
)
def test_what_is_no_schedule(kind: str, arguments: str) -> None:
    with pytest.raises(Invalid):
        schedule(kind, arguments)


@given(ids, moments)
def test_a_daily_trigger_is_due_once_a_day_at_its_own_time(trigger_id: str, moment: datetime) -> None:
    daily = schedule("@daily", "between 8am and 6pm", trigger_id)
    first = daily.next_after(moment)
    assert first is not None
    assert 8 <= first.hour < 18
    assert daily.next_after(first) == first + timedelta(days=1)
    assert schedule("@daily", "between 8am and 6pm", trigger_id).next_after(moment) == first


@given(ids, moments)
def test_an_hourly_trigger_is_due_once_an_hour_at_its_own_minute(trigger_id: str, moment: datetime) -> None:
    hourly = schedule("@hourly", "", trigger_id)
    first = hourly.next_after(moment)
    assert first is not None
    assert moment < first <= moment + timedelta(hours=1)
    assert hourly.next_after(first) == first + timedelta(hours=1)
    for_office = schedule("@hourly", "between 8am and 6pm", trigger_id).next_after(moment)
    assert for_office is not None
    assert 8 <= for_office.hour < 18


@given(ids, moments)
def test_a_weekly_trigger_is_due_once_a_week_on_one_of_its_days(trigger_id: str, moment: datetime) -> None:
    weekly = schedule("@weekly", "on monday and thursday after 10pm", trigger_id)
    first = weekly.next_after(moment)
    assert first is not None
    assert first.strftime("%a") in ("Mon", "Thu")
    assert first.hour >= 22
    assert weekly.next_after(first) == first + timedelta(days=7)


@given(ids, moments)
def test_a_monthly_trigger_is_due_in_every_month(trigger_id: str, moment: datetime) -> None:
    monthly = schedule("@monthly", "", trigger_id)
    first = monthly.next_after(moment)
    assert first is not None
    second = monthly.next_after(first)
    assert second is not None
    assert (second.year * 12 + second.month) - (first.year * 12 + first.month) == 1
    assert second.day == first.day


def test_triggers_are_spread_over_the_time_that_their_words_leave() -> None:
    found = [schedule("@daily", "between 2am and 4am", f"t{n}").next_after(MADE) for n in range(200)]
    assert {moment.hour for moment in found if moment} == {2, 3}
    assert len({moment.minute for moment in found if moment}) > 50
    days = [schedule("@weekly", "", f"t{n}").next_after(MADE) for n in range(200)]
    assert len({moment.weekday() for moment in days if moment}) == 7


def test_the_end_of_the_calendar_is_no_error() -> None:
    end = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert schedule("@every", "1h").next_after(end) is None
    assert schedule("@cron", "0 0 0 * * *").next_after(end) is None
    assert Once(MADE).next_after(end) is None


@given(st.sampled_from([*KINDS, "@event"]), st.text("0123456789*/,-? smhMONJAN.TZ:+", max_size=24), ids)
def test_any_text_is_a_schedule_or_invalid(kind: str, text: str, trigger_id: str) -> None:
    try:
        found = parse(kind, text, trigger_id, MADE)
    except Invalid:
        return
    moment = found.next_after(MADE)
    assert moment is None or moment > MADE


@given(
    st.lists(st.from_regex(r"\A(\*|\?|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9])?\Z"), min_size=6, max_size=6).map(" ".join)
)
def test_any_cron_line_is_due_after_the_moment_or_invalid(line: str) -> None:
    try:
        found = schedule("@cron", line)
    except Invalid:
        return
    moment = found.next_after(MADE)
    assert moment is not None
    assert moment > MADE
