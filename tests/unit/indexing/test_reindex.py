"""When the scheduled reindex comes to an instance."""

import pytest

from ragcore.config import Config
from ragcore.indexing.reindex import SPREAD, due_at, line_of
from ragcore.instances import Instance

NIGHTLY = "0 0 1 * * *"
MIDNIGHT = 1_799_971_200.0  # 2027-01-15
HOUR = 3600.0
DAY = 24 * HOUR


def at(domain: str, now: float = MIDNIGHT) -> float:
    due = due_at(NIGHTLY, domain, now)
    assert due is not None
    return due


def test_the_instances_are_spread_over_the_hours_after_the_time_of_the_setting() -> None:
    hours = {int((at(f"i{n}.localhost") - MIDNIGHT) // HOUR) for n in range(200)}
    # at midnight the night before is over for all
    assert hours == {1, 2, 3, 4}
    assert SPREAD == 4 * HOUR


def test_an_instance_has_the_same_time_each_night() -> None:
    first = at("a.localhost")
    assert at("a.localhost", first) == first + DAY
    assert at("a.localhost", first - 0.5) == first
    assert at("a.localhost", first + 0.5) == first + DAY
    assert at("b.localhost") != first


@pytest.mark.parametrize(
    ("context", "line"), [("", NIGHTLY), ("default", NIGHTLY), ("beta", ""), ("of-no-configuration", "")]
)
def test_the_context_of_the_instance_says_whether_it_is_walked(context: str, line: str) -> None:
    config = Config.model_validate({"contexts": {"default": {"reindex": NIGHTLY}, "beta": {}}})
    assert line_of(config, Instance("a.localhost", "a.localhost", context)) == line
