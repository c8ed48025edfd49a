from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.units import isoformat, now, parse_duration, parse_size, without_password

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("1m30s", 90),
        ("1.5h", 5400),
        ("15m", 900),
        ("250ms", 0.25),
        (".5s", 0.5),
        ("1.s", 1),
        ("2h0m1s", 7201),
        ("0s", 0),
        ("3us", 3e-6),
        ("3µs", 3e-6),
        ("7ns", 7e-9),
        ("1h1h", 7200),
    ],
)
def test_a_duration_in_gos_spelling(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["", " ", "30", "s", ".s", "1,5s", "30 s", " 30s", "30s ", "30s\n", "1m 30s", "30S", "1d", "-1s", "1e3s", "m30",
     "٣s", "1.2.3s", "inf", "30sx"],
)  # fmt: skip
def test_what_is_no_duration_is_quoted(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(sorted(UNITS))), min_size=1, max_size=6))
def test_a_duration_is_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{number}{unit}" for number, unit in parts)
    assert parse_duration(text) == pytest.approx(sum(number * UNITS[unit] for number, unit in parts))


@given(st.text(alphabet="0123456789.hmsuµn+- ", max_size=12))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    try:
        assert parse_duration(text) >= 0
    except ValueError:
        assert not any(text == f"{n}{unit}" for n in range(100) for unit in UNITS)


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("1\u03bcs", 1e-6)])
def test_the_rest_of_gos_spelling(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("65536", 65536), ("12B", 12), ("512KiB", 512 << 10), ("64MiB", 64 << 20), ("2 GiB", 2 << 30),
     (" 1KiB ", 1024)],
)  # fmt: skip
def test_a_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "64MB", "64M", "1.5MiB", "-1", "64mib", "1 2", "٣", "1e6", "9" * 5000])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


@given(st.integers(0, 2**40), st.sampled_from([("", 1), ("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30)]))
def test_a_size_is_its_number_times_its_unit(number: int, unit: tuple[str, int]) -> None:
    assert parse_size(f"{number}{unit[0]}") == number * unit[1]


def test_a_date_is_in_utc_with_milliseconds() -> None:
    moment = datetime(2026, 8, 20, 10, 12, 0, 512_999, timezone(timedelta(hours=2)))
    assert isoformat(moment) == "2026-08-20T08:12:00.512Z"
    assert now().endswith("Z")
    assert len(now()) == len("2026-08-20T08:12:00.512Z")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://admin:secret@127.0.0.1:5984/", "http://127.0.0.1:5984/"),
        ("redis://:secret@h:6379/0", "redis://h:6379/0"),
        ("http://u:p@ss@h/", "http://h/"),
        ("redis://h/0?password=secret", "redis://h/0"),
        ("file:///var/lib", "file:///var/lib"),
        ("not a url", "not a url"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown
