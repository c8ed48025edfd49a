"""Cozy's words for when a trigger may be due."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import Invalid
from ragcore.triggers.words import DAILY, FREQUENCIES, HOURLY, MONTHLY, WEEKLY, Words, parse

WEEK = (0, 1, 2, 3, 4, 5, 6)
MONTH = tuple(range(1, 29))


@pytest.mark.parametrize(
    ("frequency", "text", "expected"),
    [
        (HOURLY, "", Words()),
        (HOURLY, "between 8am and 6pm", Words((), 8, 18)),
        (DAILY, "", Words()),
        (DAILY, "between 8am and 6pm", Words((), 8, 18)),
        (DAILY, "before 5am", Words((), 0, 5)),
        (DAILY, "after 10pm", Words((), 22, 24)),
        (DAILY, "between 12am and 12pm", Words((), 0, 12)),
        (DAILY, "between 10pm and 12am", Words((), 22, 24)),
        (DAILY, "  Between 8AM   and 6pm ", Words((), 8, 18)),
        (DAILY, "after 08am before 09am", Words((), 8, 9)),
        (WEEKLY, "", Words(WEEK)),
        (WEEKLY, "on monday", Words((1,))),
        (WEEKLY, "on monday and thursday", Words((1, 4))),
        (WEEKLY, "on mon,wed,fri", Words((1, 3, 5))),
        (WEEKLY, "on mon,wed and sunday", Words((0, 1, 3))),
        (WEEKLY, "on wed-fri", Words((3, 4, 5))),
        (WEEKLY, "on fri-mon", Words((0, 1, 5, 6))),
        (WEEKLY, "on weekday", Words((1, 2, 3, 4, 5))),
        (WEEKLY, "on weekend", Words((0, 6))),
        (WEEKLY, "on weekday,saturday", Words((1, 2, 3, 4, 5, 6))),
        (WEEKLY, "on monday before 9am", Words((1,), 0, 9)),
        (WEEKLY, "on monday and thursday between 8am and 6pm", Words((1, 4), 8, 18)),
        (WEEKLY, "between 8am and 6pm on monday", Words((1,), 8, 18)),
        (MONTHLY, "", Words(MONTH)),
        (MONTHLY, "on the 1", Words((1,))),
        (MONTHLY, "on the 1,16", Words((1, 16))),
        (MONTHLY, "on the 1 and 16", Words((1, 16))),
        (MONTHLY, "on the 1-3,5-7,31", Words((1, 2, 3, 5, 6, 7, 31))),
        (MONTHLY, "on the 1 after 10pm", Words((1,), 22, 24)),
    ],
)
def test_what_is_said(frequency: str, text: str, expected: Words) -> None:
    assert parse(frequency, text) == expected


@pytest.mark.parametrize(
    ("frequency", "text"),
    [
        *(
            (WEEKLY, f"on {days}")
            for days in ("", "xyz", "mon,", "mon-", "-mon", "mon-weekend", "the monday", "mon-mon")
        ),
        *((WEEKLY, f"on {days}") for days in ("monday and", "monday on tuesday", "monday thursday", "the 1-15", "1")),
        *(
            (MONTHLY, f"on {days}")
            for days in ("the", "the xyz", "1-5", "the 5-1", "the 5-5", "the 0", "the 32", "monday")
        ),
        *((MONTHLY, f"on the {day}") for day in ("-1", "1-", "1,,2", "²", "١", "999999", "1 2")),
        *(
            (DAILY, text)
            for text in ("xyz", "on monday", "on the 1", "after", "after xyz", "before", "between 8am", "and")
        ),
        *((DAILY, f"between {hours}") for hours in ("8am and 8am", "9pm and 3am", "8am and", "8am or 9am", "8 and 9")),
        *((DAILY, f"after {hour}") for hour in ("0am", "13am", "13pm", "8", "am", "-1am", "008am", "8 am", "٨am")),
        (DAILY, "after 8am after 9am"),
        (HOURLY, "on monday"),
    ],
)
def test_what_nobody_says(frequency: str, text: str) -> None:
    with pytest.raises(Invalid):
        parse(frequency, text)


words = st.sampled_from(
    ["on", "the", "and", "between", "before", "after", "8am", "12am", "6pm", "mon", "fri-mon", "3-5"]
)


@given(st.sampled_from(FREQUENCIES), st.lists(words, max_size=9).map(" ".join) | st.text(max_size=20))
def test_any_text_leaves_an_hour_and_days_or_is_invalid(frequency: str, text: str) -> None:
    try:
        found = parse(frequency, text)
    except Invalid:
        return
    assert 0 <= found.after < found.before <= 24
    days = {WEEKLY: range(7), MONTHLY: range(1, 32)}.get(frequency, range(0))
    assert set(found.days) <= set(days)
    assert bool(found.days) == bool(days)
