"""The one subscription of a process: live events of the instances that it has listeners for.

After a lost connection it reads from the histories what it missed, in order, before it goes on, so that a
listener misses nothing and gets nothing twice.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from redis import Redis
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from ragcore.errors import Retryable
from ragcore.events.event import Published, order_of
from ragcore.events.history import KEPT, History, channel

log = logging.getLogger(__name__)

WITHIN = 5.0  # seconds for Redis to confirm a subscription
QUIET = 10.0  # seconds without a message before the connection is tried
REMEMBERED = 1000  # histories of an instance

Listener = Callable[[Published], None]
Subject = tuple[str, str]  # a doctype, and the id of a document; '' for all of the doctype's


@dataclass
class _Instance:
    """Where the process stands in the histories of an instance: all before `since` and `seen` is delivered."""

    since: str
    seen: dict[str, str] = field(default_factory=dict)
    listeners: dict[Subject, list[Listener]] = field(default_factory=dict)
    confirmed: threading.Event = field(default_factory=threading.Event)

    def add(self, subject: Subject, listener: Listener) -> None:
        self.listeners.setdefault(subject, []).append(listener)

    def remove(self, subject: Subject, listener: Listener) -> None:
        left = self.listeners.get(subject, [])
        if listener in left:
            left.remove(listener)
        if not left:
            self.listeners.pop(subject, None)

    def listeners_of(self, event: Published) -> list[Listener]:
        """Once each, also one that listens to the document and to its doctype."""
        doctype, doc_id = event.subject
        by_id, by_doctype = self.listeners.get((doctype, doc_id), ()), self.listeners.get((doctype, ""), ())
        return list(dict.fromkeys((*by_id, *by_doctype)))

    def is_new(self, event: Published) -> bool:
        place = self.seen.get(event.question)
        return place is None or event.order > order_of(place)

    def remember(self, event: Published) -> None:
        self.seen[event.question] = event.place
        # one millisecond back: another history may hold an event of the same millisecond
        self.since = f"{event.order[0] - 1}-0"
        if len(self.seen) > REMEMBERED:
            oldest = event.order[0] - KEPT * 1000
            self.seen = {q: place for q, place in self.seen.items() if order_of(place)[0] > oldest}


class Subscriber:
    """Calls the listeners from one thread, in the order of publishing: a listener must not wait for anything.

    `redis` must not retry by itself: a connection renewed in silence would lose events in silence.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._history = History(redis)
        self._own = f"ragcore:subscriber:{uuid.uuid4().hex}"  # what wakes the thread up
        self._instances: dict[str, _Instance] = {}
        self._changed = threading.Condition()
        self._heard: set[str] = set()
        self._thread: threading.Thread | None = None

    def add(self, domain: str, subject: Subject, listener: Listener) -> None:
        """From its return on, the listener gets every event of the subject. Raises Retryable."""
        try:
            instance = self._listen_to(domain, subject, listener)
            if not instance.confirmed.is_set():
                self._wake("follow")
            if instance.confirmed.wait(WITHIN):
                return
        except (RedisError, Retryable) as error:
            log.warning("no subscription: Redis does not answer (%s)", type(error).__name__)
        self.remove(domain, subject, listener)
        raise Retryable("live events are away for a moment: Redis does not answer")

    def _listen_to(self, domain: str, subject: Subject, listener: Listener) -> _Instance:
        with self._changed:
            if instance := self._instances.get(domain):
                instance.add(subject, listener)
                return instance
        since = self._history.now()
        with self._changed:
            instance = self._instances.setdefault(domain, _Instance(since))
            instance.add(subject, listener)
            return instance

    def remove(self, domain: str, subject: Subject, listener: Listener) -> None:
        with self._changed:
            if instance := self._instances.get(domain):
                instance.remove(subject, listener)
                if instance.listeners:
                    return
                del self._instances[domain]
        try:
            self._wake("follow")
        except RedisError:
            return  # the next connection follows those that are left

    def check(self) -> None:
        """Sends a heartbeat through Redis to its own thread. Raises Retryable when it is not heard."""
        beat = uuid.uuid4().hex
        try:
            self._wake(beat)
        except RedisError as error:
            raise Retryable("Redis does not answer") from error
        with self._changed:
            if not self._changed.wait_for(lambda: beat in self._heard, WITHIN):
                raise Retryable("the subscription to live events hears nothing")
            self._heard.discard(beat)

    def _wake(self, message: str) -> None:
        with self._changed:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="subscriber", daemon=True)
                self._thread.start()
        deadline = time.monotonic() + WITHIN
        while not self._redis.publish(self._own, message) and time.monotonic() < deadline:
            time.sleep(0.01)  # the thread has not subscribed yet

    def _run(self) -> None:
        while True:
            try:
                with self._redis.pubsub() as pubsub:  # type: ignore[no-untyped-call]
                    self._listen(pubsub)
            except (RedisError, Retryable) as error:
                log.warning("live events wait: Redis does not answer (%s)", type(error).__name__)
                time.sleep(0.2)

    def _listen(self, pubsub: PubSub) -> None:
        pubsub.subscribe(self._own)
        followed: set[str] = set()
        self._follow(pubsub, followed)
        domains = {channel(domain): domain for domain in followed}
        quiet = 0
        while True:
            message = pubsub.get_message(timeout=QUIET)
            quiet = 0 if message else quiet + 1
            if quiet > 1:
                raise RedisConnectionError("no answer to a ping")
            if message is None:
                pubsub.ping()
            elif message["channel"] == self._own:
                self._hear(message)
                self._follow(pubsub, followed)
                domains = {channel(domain): domain for domain in followed}
            elif domain := domains.get(message["channel"]):
                self._take_or_skip(domain, message)

    def _hear(self, message: dict[str, Any]) -> None:
        if message["type"] == "message" and message["data"] != "follow":
            with self._changed:
                self._heard.add(message["data"])
                self._changed.notify_all()

    def _follow(self, pubsub: PubSub, followed: set[str]) -> None:
        """Makes the channels of this connection those of the instances that have listeners."""
        with self._changed:
            wanted = set(self._instances)
        for domain in wanted - followed:
            pubsub.subscribe(channel(domain))
        for domain in followed - wanted:
            pubsub.unsubscribe(channel(domain))  # type: ignore[no-untyped-call]
        for domain in followed & wanted:
            self._catch_up(domain)
        followed.clear()
        followed.update(wanted)

    def _take_or_skip(self, domain: str, message: dict[str, Any]) -> None:
        """A message that cannot be read, or a listener that fails, must not leave the process deaf."""
        try:
            self._take(domain, message)
        except (RedisError, Retryable):
            raise
        except Exception:
            log.exception("a live event of %s is skipped", domain)

    def _take(self, domain: str, message: dict[str, Any]) -> None:
        with self._changed:
            instance = self._instances.get(domain)
        if instance is None:
            return
        if message["type"] == "subscribe":
            instance.confirmed.clear()
            self._catch_up(domain)
        elif message["type"] == "message":
            self._deliver(instance, Published.parse(domain, message["data"]))

    def _catch_up(self, domain: str) -> None:
        """Delivers what was published before the channel was subscribed to, once for each subscription."""
        with self._changed:
            instance = self._instances.get(domain)
        if instance is None or instance.confirmed.is_set():
            return
        for event in self._history.missed(domain, instance.since, instance.seen):
            self._deliver(instance, event)
        instance.confirmed.set()

    def _deliver(self, instance: _Instance, event: Published) -> None:
        if not instance.is_new(event):
            return
        instance.remember(event)
        for listener in instance.listeners_of(event):
            listener(event)
