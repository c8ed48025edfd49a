import pytest

from ragcore.errors import Invalid
from ragcore.grounded.when import ALWAYS, When


@pytest.mark.parametrize(
    ("since", "until", "date", "holds"),
    [
        ("2026-01-01", "", "2026-01-01T00:00:00.000Z", True),
        ("2026-01-01", "", "2025-12-31T23:59:59Z", False),
        ("2026-01-01", "", "2026-01-01T00:30:00+02:00", False),
        ("", "2026-01-31", "2026-01-31T23:59:59.999Z", True),
        ("", "2026-01-31", "2026-02-01T00:00:00Z", False),
        ("2026-01-01T12:00:00+02:00", "2026-01-01T11:00", "2026-01-01T10:30:00Z", True),
        ("2026-01-01", "", "", False),
        ("2026-01-01", "", "soon", False),
        ("", "", "soon", True),
        ("0001-01-01", "9999-12-31", "2026-01-01", True),
    ],
)
def test_what_is_inside(since: str, until: str, date: str, holds: bool) -> None:
    assert When.parse(since, until).holds(date) == holds


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "01/02/2026", "2026"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(Invalid, match="since must be a date"):
        When.parse(text, "")


def test_texts_around_it_leave_out_no_zone() -> None:
    assert When.parse("2026-01-02", "2026-01-31").around() == ("2026-01-01", "2026-02-02")
    assert ALWAYS.around() == ("0", "9999")
    assert When.parse("0001-01-01", "9999-12-31").around() == ("0", "9999")
