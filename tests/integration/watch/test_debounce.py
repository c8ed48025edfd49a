"""Debounced triggers, in Redis."""

import pytest

from ragcore.errors import NotFound, Retryable
from ragcore.runtime import Runtime
from ragcore.watch.debounce import AGAIN_AFTER, LOOK_EVERY, Debounce
from tests.support.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def debounce(apart: Runtime, clock: Clock) -> Debounce:
    return Debounce(apart.redis, clock)


def test_the_first_event_starts_the_delay_and_those_during_it_make_no_other_job(
    debounce: Debounce, clock: Clock
) -> None:
    fired: list[tuple[str, str]] = []
    debounce.add("a.localhost", "t1", 30)
    clock.now += 20
    debounce.add("a.localhost", "t1", 30)
    assert debounce.fire_due(lambda *fire: fired.append(fire)) == 10
    assert fired == []
    clock.now += 10
    assert debounce.fire_due(lambda *fire: fired.append(fire)) == LOOK_EVERY
    assert fired == [("a.localhost", "t1")]
    debounce.fire_due(lambda *fire: fired.append(fire))
    assert len(fired) == 1


def test_an_event_after_the_clock_was_set_back_waits_its_delay(debounce: Debounce, clock: Clock) -> None:
    fired: list[tuple[str, str]] = []
    debounce.add("a.localhost", "t1", 30)
    clock.now -= 3600
    debounce.add("a.localhost", "t1", 30)
    assert debounce.fire_due(lambda *fire: fired.append(fire)) == 30
    clock.now += 30
    debounce.fire_due(lambda *fire: fired.append(fire))
    assert fired == [("a.localhost", "t1")]


def test_what_waits_while_the_clock_is_set_back_waits_no_longer(
    debounce: Debounce, apart: Runtime, clock: Clock
) -> None:
    fired: list[tuple[str, str]] = []
    debounce.add("a.localhost", "t1", 30)
    debounce.fire_due(lambda *fire: fired.append(fire))
    clock.now -= 3600
    another = Debounce(apart.redis, clock)  # of the watcher that took over
    assert another.fire_due(lambda *fire: fired.append(fire)) == 30
    clock.now += 30
    another.fire_due(lambda *fire: fired.append(fire))
    assert fired == [("a.localhost", "t1")]


def test_an_event_while_it_fires_begins_a_delay_of_its_own(debounce: Debounce, clock: Clock) -> None:
    fired: list[float] = []

    def fire(domain: str, trigger_id: str) -> None:
        fired.append(clock.now)
        if len(fired) == 1:
            debounce.add(domain, trigger_id, 5)

    debounce.add("a.localhost", "t1", 0)
    assert debounce.fire_due(fire) == 5
    clock.now += 5
    debounce.fire_due(fire)
    assert len(fired) == 2


def test_what_cannot_be_fired_is_fired_later_and_holds_up_no_other(debounce: Debounce, clock: Clock) -> None:
    fired: list[str] = []
    away = True

    def fire(domain: str, trigger_id: str) -> None:
        if trigger_id == "bad" and away:
            raise Retryable("the database is away")
        if trigger_id == "gone":
            raise NotFound("it is gone")
        fired.append(trigger_id)

    for trigger_id in ("bad", "good", "gone"):
        debounce.add("a.localhost", trigger_id, 0)
    assert debounce.fire_due(fire) == AGAIN_AFTER
    assert fired == ["good"]
    away = False
    debounce.fire_due(fire)
    debounce.fire_due(fire)
    assert fired == ["good", "bad"]


def test_another_process_fires_what_one_was_killed_with(apart: Runtime, debounce: Debounce, clock: Clock) -> None:
    """Twice rather than not at all."""
    fired: list[str] = []

    def killed(domain: str, trigger_id: str) -> None:
        raise SystemExit

    debounce.add("a.localhost", "t1", 0)
    debounce.add("a.localhost", "t2", 60)
    with pytest.raises(SystemExit):
        debounce.fire_due(killed)
    other = Debounce(apart.redis, clock)
    other.fire_due(lambda domain, trigger_id: fired.append(trigger_id))
    clock.now += 60
    other.fire_due(lambda domain, trigger_id: fired.append(trigger_id))
    assert fired == ["t1", "t2"]
