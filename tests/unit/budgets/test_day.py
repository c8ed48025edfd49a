from ragcore.budgets.day import Day

MIDNIGHT = 1796169600.0  # 2026-12-02


def test_a_day_is_of_utc() -> None:
    assert Day.of(MIDNIGHT - 0.001) == Day("2026-12-01")
    assert Day.of(MIDNIGHT) == Day.of(MIDNIGHT + 86399.9) == Day("2026-12-02")


def test_where_it_begins_and_where_the_next_one_does() -> None:
    day = Day("2026-12-31")
    assert (day.began_at, day.reset_at) == ("2026-12-31T00:00:00.000Z", "2027-01-01T00:00:00.000Z")
    assert Day.of(day.begins) == day
    assert Day("2027-01-01").before == day
