from hypothesis import given
from hypothesis import strategies as st

from ragcore.events import Published
from ragcore.events.history import KEPT
from ragcore.events.subscriber import REMEMBERED, _Instance


def published(milliseconds: int, sequence: int = 0, question: str = "q") -> Published:
    return Published("d", question, f"{milliseconds}-{sequence}", "{}")


def test_an_event_is_new_once() -> None:
    instance = _Instance("0-0")
    event = published(1000, 3)
    assert instance.is_new(event)
    instance.remember(event)
    assert not instance.is_new(event)
    assert not instance.is_new(published(1000, 2))
    assert not instance.is_new(published(999, 9))
    assert instance.is_new(published(1000, 10))
    assert instance.is_new(published(1000, 2, "another"))


def test_another_history_may_hold_an_event_of_the_same_millisecond() -> None:
    instance = _Instance("0-0")
    instance.remember(published(1000, 3))
    assert instance.since == "999-0"


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 3), st.sampled_from(["", "a", "b"])), max_size=30))
def test_any_events_twice_are_delivered_once_and_in_order(events: list[tuple[int, int, str]]) -> None:
    instance, delivered = _Instance("0-0"), []
    ordered = sorted(set(events))
    for _ in range(2):
        for place in ordered:
            event = published(*place)
            if instance.is_new(event):
                instance.remember(event)
                delivered.append(place)
    assert delivered == ordered


def test_what_is_remembered_is_bounded_by_what_the_histories_keep() -> None:
    instance, late = _Instance("0-0"), KEPT * 1000 + 10_000
    for n in range(REMEMBERED):
        instance.remember(published(n + 1, question=f"old{n}"))
    instance.remember(published(late, question="new"))
    assert len(instance.seen) < 10
    assert "new" in instance.seen
