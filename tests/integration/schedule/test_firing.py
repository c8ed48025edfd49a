"""Triggers whose time has come."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from ragcore.errors import NotFound
from ragcore.instances import Instance
from ragcore.jobs import FeedJob
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.triggers import due as due_module
from ragcore.triggers import firing
from ragcore.triggers.documents import Trigger, Triggers
from ragcore.triggers.due import FILL_AGAIN, HOLD, TRIGGERS, DueTimes
from ragcore.triggers.firing import AGAIN_AFTER, fire_due
from ragcore.units import isoformat
from ragcore.work import Work
from tests.integration.schedule.conftest import Clock
from tests.support.queue import Recorded

FEED = {"doctype": "io.cozy.files"}


@pytest.fixture
def due(runtime: Runtime, clock: Clock) -> DueTimes:
    return DueTimes(runtime.redis, now=clock)


@pytest.fixture
def triggers(runtime: Runtime, instance: Instance, due: DueTimes) -> Triggers:
    return Triggers(runtime.store, instance, due)


def new(clock: Clock, type_: str, arguments: str, worker: str = "rag-index") -> Trigger:
    created = isoformat(datetime.fromtimestamp(clock.now, UTC))
    return Trigger(type_, arguments, worker, FEED, created_at=created)


def due_times(runtime: Runtime) -> dict[str, float]:
    """By the id of the trigger."""
    return {member.partition("\n")[2]: at for member, at in runtime.redis.zrange(TRIGGERS, 0, -1, withscores=True)}


def jobs(triggers: Triggers, trigger: Trigger) -> list[Document]:
    return triggers.jobs(trigger.id)


def test_each_due_time_fires_once(
    runtime: Runtime, work: Work, queue: Recorded, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    trigger = triggers.create(new(clock, "@every", "2s"))
    other = DueTimes(runtime.redis, now=clock)
    fired = []
    for _ in range(5):
        clock.now += 1
        fired.append((fire_due(work, due), fire_due(work, other)))
    assert fired == [(0, 0), (1, 0), (0, 0), (1, 0), (0, 0)]
    assert [type(job) for job in queue.jobs] == [FeedJob]  # the second found one that waited
    assert [job["trigger_id"] for job in jobs(triggers, trigger)] == [trigger.id]


def test_due_times_that_were_missed_fire_once_for_all(
    runtime: Runtime, work: Work, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    trigger = triggers.create(new(clock, "@every", "1h"))
    clock.now += 5 * 3600 + 60
    assert fire_due(work, due) == 1
    assert due_times(runtime) == {trigger.id: clock.now - 60 + 3600}


@pytest.mark.parametrize(("type_", "arguments", "after"), [("@in", "10s", 10), ("@at", "2027-01-15T09:00:00", 3600)])
def test_what_is_due_once_fires_once_and_goes(
    runtime: Runtime,
    work: Work,
    triggers: Triggers,
    due: DueTimes,
    clock: Clock,
    type_: str,
    arguments: str,
    after: float,
) -> None:
    trigger = triggers.create(new(clock, type_, arguments))
    clock.now += after - 1
    assert fire_due(work, due) == 0
    clock.now += 1
    assert fire_due(work, due) == 1
    assert len(jobs(triggers, trigger)) == 1
    with pytest.raises(NotFound):
        triggers.get(trigger.id)
    assert due_times(runtime) == {}


def test_what_cannot_be_launched_is_launched_later(
    work: Work, queue: Recorded, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    trigger = triggers.create(new(clock, "@in", "1s"))
    clock.now += 1
    queue.broken = True
    assert fire_due(work, due) == 0
    queue.broken = False
    assert triggers.get(trigger.id)
    assert fire_due(work, due) == 0
    clock.now += AGAIN_AFTER
    assert fire_due(work, due) == 1
    assert len(queue.jobs) == 1


def test_what_a_killed_process_took_is_due_again(
    work: Work, triggers: Triggers, due: DueTimes, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise SystemExit

    trigger = triggers.create(new(clock, "@daily", "between 9am and 10am"))
    clock.now += 3 * 3600
    with monkeypatch.context() as patch:
        patch.setattr(firing, "launch", killed)
        with pytest.raises(SystemExit):
            fire_due(work, due)
    assert fire_due(work, due) == 0
    clock.now += HOLD
    assert fire_due(work, due) == 1
    assert len(jobs(triggers, trigger)) == 1


def test_one_that_took_too_long_changes_nothing_of_the_next(
    runtime: Runtime, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    trigger = triggers.create(new(clock, "@in", "1s"))
    clock.now += 1
    (slow,) = due.take(10)
    clock.now += HOLD
    (next_,) = due.take(10)
    due.settle(slow, None)
    assert due_times(runtime) == {trigger.id: next_.until}
    due.settle(next_, clock.now + 5)
    assert due_times(runtime) == {trigger.id: clock.now + 5}


def test_a_trigger_that_is_deleted_fires_no_more(
    runtime: Runtime, work: Work, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    told = triggers.create(new(clock, "@every", "1m"))
    untold = triggers.create(new(clock, "@every", "1m"))
    triggers.delete(told)
    assert due_times(runtime).keys() == {untold.id}
    Triggers(runtime.store, triggers.instance).delete(untold)
    clock.now += 60
    assert fire_due(work, due) == 0
    assert due_times(runtime) == {}


def test_a_trigger_that_is_deleted_while_it_fires_does_not_come_back(
    runtime: Runtime, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    trigger = triggers.create(new(clock, "@every", "1m"))
    clock.now += 60
    (taken,) = due.take(10)
    triggers.delete(trigger)
    due.settle(taken, clock.now + 60)
    assert due_times(runtime) == {}


def test_an_instance_that_is_gone_fires_nothing(
    runtime: Runtime, work: Work, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    triggers.create(new(clock, "@every", "1m"))
    runtime.instances.remove(triggers.instance.domain)
    clock.now += 60
    assert fire_due(work, due) == 0
    assert due_times(runtime) == {}


def test_what_goes_wrong_with_one_holds_up_no_other(
    runtime: Runtime,
    work: Work,
    triggers: Triggers,
    due: DueTimes,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = triggers.create(new(clock, "@every", "2m"))
    due.add(triggers.instance.domain, triggers.create(new(clock, "@event", "io.cozy.files")).id, clock.now)
    due.add(triggers.instance.domain, triggers.create(new(clock, "@every", "1m", "rag-query")).id, clock.now)
    due.add(triggers.instance.domain, triggers.create(new(clock, "@cron", "nonsense")).id, clock.now)
    bug = triggers.create(new(clock, "@every", "1m"))
    launch = firing.launch

    def with_a_bug(work: Work, instance: Instance, trigger: Trigger) -> str:
        return launch(work, instance, trigger) if trigger.id != bug.id else str(1 // 0)

    monkeypatch.setattr(firing, "launch", with_a_bug)
    clock.now += 120
    with caplog.at_level(logging.ERROR):
        assert fire_due(work, due) == 1
    assert "ZeroDivisionError" in caplog.text
    assert due_times(runtime) == {good.id: clock.now + 120}
    assert len(triggers.all()) == 5  # the other ones are not ours to remove


def test_what_redis_lost_is_found_in_the_documents(
    runtime: Runtime, work: Work, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    every = triggers.create(new(clock, "@every", "1m"))
    once = triggers.create(new(clock, "@in", "30s"))
    other_writer = new(clock, "@every", "1m", "thumbnail")
    runtime.store.save(triggers.instance, "io.cozy.triggers", other_writer.to_document(triggers.instance.domain))
    triggers.create(new(clock, "@event", "io.cozy.files"))
    runtime.redis.flushdb()
    created = clock.now
    clock.now += 90
    due.fill(firing.times(runtime, clock.now))
    assert due_times(runtime) == {every.id: created + 120, once.id: created + 30}  # the latter never fired


def test_what_was_missed_stays_due_when_the_documents_are_looked_at(
    runtime: Runtime, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    trigger = triggers.create(new(clock, "@every", "1m"))
    created = clock.now
    clock.now += 3600
    due.fill(firing.times(runtime, clock.now))
    assert due_times(runtime) == {trigger.id: created + 60}


def test_the_documents_are_looked_at_seldom_and_soon_after_a_failure(
    runtime: Runtime, due: DueTimes, clock: Clock
) -> None:
    def broken() -> Iterator[tuple[str, str, float]]:
        yield "a.localhost", "t1", clock.now
        raise NotFound("one could not be read")

    with pytest.raises(NotFound):
        due.fill(broken())
    assert due_times(runtime).keys() == {"t1"}
    assert 0 < runtime.redis.pttl(f"{TRIGGERS}:filled") <= FILL_AGAIN * 1000
    due.fill([("a.localhost", "t2", clock.now)])
    assert due_times(runtime).keys() == {"t1"}
    due.fill_again()
    due.fill([("a.localhost", "t2", clock.now)])
    assert due_times(runtime).keys() == {"t1", "t2"}
    assert runtime.redis.pttl(f"{TRIGGERS}:filled") > due_module.FILL_EVERY * 900


@pytest.mark.parametrize("fired", [True, False], ids=["fired before", "just made"])
def test_a_clock_that_was_set_back_silences_nothing_for_an_hour(
    runtime: Runtime, work: Work, triggers: Triggers, due: DueTimes, clock: Clock, fired: bool
) -> None:
    triggers.create(new(clock, "@every", "1m"))
    clock.now += 60 * fired
    assert fire_due(work, due) == fired
    clock.now -= 3600
    due.fill(firing.times(runtime, clock.now))
    clock.now += 60
    assert fire_due(work, due) == 1


def test_what_is_held_stays_so_when_the_documents_are_looked_at(
    runtime: Runtime, triggers: Triggers, due: DueTimes, clock: Clock
) -> None:
    triggers.create(new(clock, "@in", "1s"))
    clock.now += 1
    (taken,) = due.take(1)
    clock.now -= 5  # of another process, whose clock is behind
    due.fill(firing.times(runtime, clock.now))
    assert due_times(runtime) == {taken.name: taken.until}


def test_many_that_are_due_are_shared(due: DueTimes, clock: Clock) -> None:
    for n in range(30):
        due.add("a.localhost", f"t{n:02}", clock.now - 30 + n)
    first = [taken.name for taken in due.take(20)]
    second = [taken.name for taken in due.take(20)]
    assert first + second == [f"t{n:02}" for n in range(30)]


def test_triggers_are_made_without_redis(without_redis: Runtime, clock: Clock) -> None:
    (instance,) = without_redis.instances.all()
    triggers = Triggers(without_redis.store, instance, DueTimes(without_redis.redis, now=clock))
    trigger = triggers.create(new(clock, "@every", "1m"))
    triggers.delete(triggers.get(trigger.id))
    assert triggers.all() == []


@pytest.fixture
def without_redis(runtime: Runtime, instance: Instance) -> Runtime:
    redis = runtime.config.redis.model_copy(update={"url": "redis://127.0.0.1:1/0"})
    return Runtime(runtime.config.model_copy(update={"redis": redis}))
