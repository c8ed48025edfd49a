"""Publishing and subscribing over a real Redis: nothing lost, nothing doubled, in order."""

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from ragcore.events import CHAT_EVENTS, Event, History, Published, Publisher, Subscriber
from ragcore.events.event import MAX_SIZE
from ragcore.runtime import Runtime

EVENTS = (CHAT_EVENTS, "")


@pytest.fixture
def redis(runtime: Runtime) -> Redis:
    return Runtime(runtime.config).redis


@pytest.fixture
def domain() -> str:
    return f"e{uuid.uuid4().hex}.localhost"


def delta(question: str, position: int) -> Event:
    return Event("CREATED", CHAT_EVENTS, question, {"object": "delta", "content": "x", "position": position})


def document(position: int) -> Event:
    return Event("UPDATED", "io.cozy.files", "f1", {"position": position})


def positions(events: list[Published]) -> list[int]:
    return [int(event.text.rpartition('"position":')[2].rstrip("}")) for event in events]


def test_live_events_come_in_order_and_carry_the_id(redis: Redis, domain: str, until: Callable) -> None:
    got: list[Published] = []
    Subscriber(redis).add(domain, EVENTS, got.append)
    publisher = Publisher(redis)
    for position in range(500):
        publisher.publish(domain, delta("q1", position))
    until(lambda: len(got) == 500)
    assert positions(got) == list(range(500))
    assert '"_id":"q1"' in got[0].text
    assert got[0].subject == (CHAT_EVENTS, "q1")


def test_the_history_holds_the_same_events_at_the_same_places(redis: Redis, domain: str, until: Callable) -> None:
    got: list[Published] = []
    Subscriber(redis).add(domain, EVENTS, got.append)
    publisher = Publisher(redis)
    for position in range(1500):
        publisher.publish(domain, delta("q1", position))
    publisher.flush()
    until(lambda: len(got) == 1500)
    history = History(redis)
    assert list(history.of_question(domain, "q1")) == got
    assert list(history.of_question(domain, "q1", after=got[699].place)) == got[700:]
    assert list(history.of_question(domain, "q2")) == []


def test_nothing_reaches_another_instance(redis: Redis, domain: str, until: Callable) -> None:
    mine: list[Published] = []
    other: list[Published] = []
    subscriber = Subscriber(redis)
    subscriber.add(domain, EVENTS, mine.append)
    subscriber.add(f"other-{domain}", EVENTS, other.append)
    publisher = Publisher(redis)
    publisher.publish(domain, delta("q1", 0))
    publisher.publish(f"other-{domain}", delta("q1", 1))
    until(lambda: mine and other)
    assert (positions(mine), positions(other)) == ([0], [1])


def test_a_listener_gets_its_subjects_once(redis: Redis, domain: str, until: Callable) -> None:
    both: list[Published] = []
    one: list[Published] = []
    subscriber, publisher = Subscriber(redis), Publisher(redis)
    for subject in (EVENTS, (CHAT_EVENTS, "q1"), ("io.cozy.files", "f2")):
        subscriber.add(domain, subject, both.append)
    subscriber.add(domain, (CHAT_EVENTS, "q2"), one.append)
    subscriber.remove(domain, (CHAT_EVENTS, "q1"), both.append)
    for position, question in enumerate(("q1", "q2", "q1")):
        publisher.publish(domain, delta(question, position))
    publisher.publish(domain, document(3))
    publisher.publish(domain, delta("q2", 4))
    until(lambda: len(one) == 2 and len(both) == 4)
    assert (positions(both), positions(one)) == ([0, 1, 2, 4], [1, 4])


def test_a_lost_connection_loses_no_event(redis: Redis, domain: str, until: Callable) -> None:
    """Events of two questions and of documents go on while the subscription is cut, again and again."""
    got: list[Published] = []
    subscriber = Subscriber(redis)
    for subject in (EVENTS, ("io.cozy.files", "f1")):
        subscriber.add(domain, subject, got.append)
    publisher = Publisher(redis)
    cutting = threading.Event()

    def cut() -> None:
        while not cutting.wait(0.03):
            redis.client_kill_filter(_type="pubsub")

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        for position in range(300):
            publisher.publish(domain, delta("q1", position))
            publisher.publish(domain, delta("q2", position))
            if position % 5 == 0:
                publisher.publish(domain, document(position))
            publisher.flush()
    finally:
        cutting.set()
        thread.join()
    until(lambda: len(got) >= 660)
    for question in ("q1", "q2"):
        assert positions([e for e in got if e.question == question]) == list(range(300))
    assert positions([e for e in got if not e.question]) == list(range(0, 300, 5))
    assert [event.order for event in got] == sorted(event.order for event in got)


def test_a_listener_can_come_back(redis: Redis, domain: str, until: Callable) -> None:
    subscriber, publisher = Subscriber(redis), Publisher(redis)
    for position in range(3):
        got: list[Published] = []
        subscriber.add(domain, EVENTS, got.append)
        publisher.publish(domain, delta("q1", position))
        until(lambda got=got: got)
        assert positions(got) == [position]
        subscriber.remove(domain, EVENTS, got.append)


def test_the_publisher_waits_for_redis_and_doubles_nothing(
    redis: Redis, domain: str, until: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that is lost after the work was done: the batch is sent again, the events are not."""
    publisher = Publisher(redis)
    send = publisher._send
    lost: Iterator[bool] = iter([True, True, False])

    def lose_the_answer(batch: list, again: bool) -> bool:
        return send(batch, again) and not next(lost)

    monkeypatch.setattr(publisher, "_send", lose_the_answer)
    publisher.publish(domain, delta("q1", 0))
    publisher.flush()
    assert positions(list(History(redis).of_question(domain, "q1"))) == [0]


def test_histories_are_bounded_and_expire(redis: Redis, domain: str) -> None:
    publisher = Publisher(redis)
    for position in range(2000):
        publisher.publish(domain, document(position))
    publisher.publish(domain, delta("q1", 0))
    publisher.flush()
    rest, question = f"ragcore:history:{{{domain}}}:", f"ragcore:history:{{{domain}}}:q1"
    assert redis.xlen(rest) < 500
    assert 0 < redis.ttl(rest) <= 900
    assert 0 < redis.ttl(question) <= 900
    assert 0 < redis.ttl(f"ragcore:active:{{{domain}}}") <= 900


def test_a_heartbeat_comes_back_through_redis(redis: Redis) -> None:
    Subscriber(redis).check()


def test_an_event_that_is_too_large_goes_out_cut(redis: Redis, domain: str) -> None:
    messages = [{"id": f"m{n}", "role": "user", "content": "é" * 4000} for n in range(300)]
    doc = {"_rev": "3-a", "messages": messages}
    publisher = Publisher(redis)
    publisher.publish(domain, Event("UPDATED", "io.cozy.ai.chat.conversations", "c1", doc))
    publisher.flush()
    (event,) = History(redis).missed(domain, "0-0", {})
    assert len(event.text.encode()) < MAX_SIZE
    assert '"_rev":"3-a"' in event.text
    assert '{"id":"m299","role":"user"}' in event.text
