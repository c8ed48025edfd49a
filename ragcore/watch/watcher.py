"""Follows the databases of all instances.

Where the server tells which databases change (CouchDB's `_db_updates`), those are read; else the feed of each is
followed. Where each feed was read up to stands in Redis, beside the triggers that are to fire: what loses the one loses
the other. A feed whose place is not known is followed from now on, and its triggers fire once: nothing is missed. Once
the places of all are known, a database without one is new: it is read from its beginning.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any, Protocol, cast

from redis.exceptions import RedisError

from ragcore.errors import NotFound, RagcoreError, retryable
from ragcore.events import Event
from ragcore.instances import Instance
from ragcore.runtime import NEW_DATABASE, Runtime
from ragcore.store import Document, UnknownSequence, doctype_of, prefix_of
from ragcore.watch.debounce import Debounce
from ragcore.watch.lead import GoesOn, Lead

log = logging.getLogger(__name__)

WATCHING = "ragcore:watching"  # the lease
PLACES = "ragcore:watched"  # a hash: the name of a database, and where its feed was read up to
ALL = ""  # the field that says that all have a place
SEEN_AT = "ragcore:watched:at"  # Unix time
INSTANCES = "global/instances"
RESCAN_EVERY = 10.0  # seconds
LOOK_EVERY = 2.0  # seconds, whether Redis lost the places
HEARTBEAT = 30.0  # seconds
GATHER = 0.1  # seconds: what comes together is read together, and its writer has announced it, and gone on, meanwhile
WAIT = 240.0  # seconds for the changes of one database, before they are asked for again
PAGE = 100
AGAIN_AFTER = 1.0  # seconds, after a failure
LATE = 300.0  # seconds of nobody watching, after which what was missed is news to no page any more


class Triggers(Protocol):
    """What the watcher needs of the triggers. Each call raises Retryable."""

    def matching(self, instance: Instance, verb: str, doctype: str, doc: Document) -> Iterable[tuple[str, float]]:
        """The ids of the triggers that an event fires, each with its debounce in seconds."""

    def of_doctype(self, instance: Instance, doctype: str) -> Iterable[tuple[str, float]]:
        """The same for all events of a doctype."""

    def fire(self, domain: str, trigger_id: str) -> None:
        """Pushes its job. Raises NotFound when it is gone."""


class Watcher:
    def __init__(self, runtime: Runtime, triggers: Triggers) -> None:
        self._runtime = runtime
        self._triggers = triggers
        self._lead = Lead(runtime.redis, WATCHING)
        self._debounce = Debounce(runtime.redis)

    def run(self) -> None:
        """Until the process ends, or `stop`."""
        self._lead.run(self._begin)

    def stop(self) -> None:
        self._lead.resign()

    def _begin(self, goes_on: GoesOn) -> None:
        databases = Databases(self._runtime, self._triggers, self._debounce, goes_on)
        works = [
            lambda: self._debounce.run(self._triggers.fire, goes_on),
            *databases.works(self._was_away_for() > LATE),
        ]
        for work in [*works, lambda: self._keep_time(goes_on)]:
            threading.Thread(target=work, daemon=True).start()

    def _keep_time(self, goes_on: GoesOn) -> None:
        had = False
        while goes_on():
            with suppress(RedisError):
                has = bool(self._runtime.redis.exists(PLACES))
                if had and not has:
                    log.warning("Redis lost the places of the databases: they are followed anew")
                    self._lead.begin_anew()
                    return
                had = has
                self._runtime.redis.set(SEEN_AT, time.time())
            time.sleep(LOOK_EVERY)

    def _was_away_for(self) -> float:
        """Seconds that nobody watched."""
        with suppress(RedisError):
            if seen := self._runtime.redis.get(SEEN_AT):
                return time.time() - float(cast(str, seen))
        return 0.0


class Databases:
    """Which databases there are, and which of them change, as long as one lead `goes_on`."""

    def __init__(self, runtime: Runtime, triggers: Triggers, debounce: Debounce, goes_on: GoesOn) -> None:
        self._runtime = runtime
        self._triggers = triggers
        self._debounce = debounce
        self._goes_on = goes_on
        self._instances: dict[str, Instance] = {}
        self._followed: set[str] = set()
        self._lock = threading.Lock()
        self._rescan = threading.Event()
        self._all_known = False
        self._late = False

    def works(self, late: bool) -> list[Callable[[], None]]:
        """What is to be run, each in a thread. What it is `late` for is not announced, and fires."""
        self._late = late
        return [self._listen, self._watch]

    def _watch(self) -> None:
        while self._goes_on():
            try:
                self._by_updates()
            except NotFound:
                self._by_feeds()
            except RagcoreError as error:
                log.warning("the databases are not watched for a moment: %s", error)
                time.sleep(AGAIN_AFTER)
            except Exception:  # this process has the lead: no other would go on
                log.exception("the databases are not watched for a moment")
                time.sleep(AGAIN_AFTER)

    def _by_updates(self) -> None:
        """The server tells which databases change. Raises NotFound where it does not."""
        server = self._runtime.store.server
        place = server.updates("now")["last_seq"]
        self._look_whether_all_are_known()
        self._read_instances()
        names = server.databases()
        failed = self._catch_up(names)  # with what was missed before
        self._late = False
        self._look_whether_all_are_known(names)
        while self._goes_on():
            told = server.updates(place, 0 if failed else HEARTBEAT)
            time.sleep(GATHER)
            changed = [row["db_name"] for row in told["results"]]
            failed = self._catch_up([*failed, *changed, *self._of_new_instances(changed)])
            place = told["last_seq"]
            if failed:
                time.sleep(AGAIN_AFTER)

    def _of_new_instances(self, changed: Collection[str]) -> list[str]:
        """The databases of instances that were added: they may have been told before the instance."""
        if INSTANCES not in changed:
            return []
        known = self._instances.keys()
        self._read_instances()
        added = self._instances.keys() - known
        return [name for name in self._runtime.store.server.databases() if name.partition("/")[0] in added]

    def _catch_up(self, names: Collection[str]) -> list[str]:
        """Those that could not be read: one keeps no other from being read."""
        failed = []
        for name in dict.fromkeys(names):
            try:
                if follower := self._follower(name):
                    follower.catch_up(self._late)
            except RagcoreError as error:
                log.warning("%s is read later: %s", name, error)
                failed.append(name)
        return failed

    def _by_feeds(self) -> None:
        """Each database is followed, and soon those that are made."""
        while self._goes_on():
            self._rescan.clear()
            try:
                self._look_whether_all_are_known(self._followed)
                self._follow_new()
                self._late = False
            except RagcoreError as error:
                log.warning("the databases cannot be listed: %s", error)
            self._rescan.wait(RESCAN_EVERY if self._all_known else AGAIN_AFTER)

    def _follow_new(self) -> None:
        self._read_instances()
        for name in self._runtime.store.server.databases():
            with self._lock:
                follower = None if name in self._followed else self._follower(name)
                if follower:
                    self._followed.add(name)
            if follower:
                threading.Thread(target=self._follow, args=(follower, self._late), daemon=True).start()

    def _follow(self, follower: "Follower", late: bool) -> None:
        try:
            follower.run(late)
        finally:
            with self._lock:
                self._followed.discard(follower.name)

    def _follower(self, name: str) -> "Follower | None":
        """None for a database that is no instance's."""
        instance = self._instances.get(name.partition("/")[0])
        if instance is None:
            return None
        is_new = self._all_known
        return Follower(self._runtime, self._triggers, self._debounce, self._goes_on, instance, name, is_new)

    def _look_whether_all_are_known(self, names: Iterable[str] = ()) -> None:
        """Raises Retryable."""
        with _told():
            known = self._runtime.redis.hkeys(PLACES)
            ours = {name for name in names if name.partition("/")[0] in self._instances}
            if ours and ours <= set(known):
                self._runtime.redis.hset(PLACES, ALL, "true")
                known.append(ALL)
        self._all_known = ALL in known

    def _read_instances(self) -> None:
        self._instances = {prefix_of(instance.prefix): instance for instance in self._runtime.instances.all()}

    def _listen(self) -> None:
        """A database that this project makes is followed at once."""
        while self._goes_on():
            with suppress(RedisError), self._runtime.redis.pubsub() as pubsub:  # type: ignore[no-untyped-call]
                pubsub.subscribe(NEW_DATABASE)
                while self._goes_on():
                    message = pubsub.get_message(timeout=AGAIN_AFTER)
                    if message and message["type"] == "message":
                        self._rescan.set()
            time.sleep(AGAIN_AFTER)


class Follower:
    """Follows the feed of one database."""

    def __init__(
        self,
        runtime: Runtime,
        triggers: Triggers,
        debounce: Debounce,
        goes_on: GoesOn,
        instance: Instance,
        name: str,
        is_new: bool,
    ) -> None:
        self.name = name
        self._runtime = runtime
        self._triggers = triggers
        self._debounce = debounce
        self._goes_on = goes_on
        self._is_new = is_new
        self._instance = instance
        self._doctype = doctype_of(name)
        self._tells = True

    def run(self, late: bool = False) -> None:
        """Until it may not go on, or the database is gone. What it is `late` for is not announced, and fires."""
        self._tells = not late
        while self._goes_on():
            try:
                self._read(wait=True)
            except NotFound:
                self._forget()
                return
            except RagcoreError as error:
                log.warning("%s is not followed for a moment: %s", self.name, error)
                time.sleep(AGAIN_AFTER)
            except Exception:  # a bug that one document shows must not end it
                log.exception("%s is not followed for a moment", self.name)
                time.sleep(AGAIN_AFTER)

    def catch_up(self, late: bool = False) -> None:
        """Reads what there is. Raises Retryable."""
        self._tells = not late
        with suppress(NotFound):
            while self._read(wait=False):
                pass

    def _read(self, wait: bool) -> bool:
        """Applies a page of changes: whether more are there. Raises NotFound, Retryable."""
        store = self._runtime.store
        place = self._place()
        try:
            if place is None:
                place = self._begin()
            if wait:
                changes = store.next_changes(self._instance, self._doctype, place, PAGE, WAIT)
                if not changes.more:
                    time.sleep(GATHER)
            else:
                changes = store.changes(self._instance, self._doctype, place, PAGE)
        except UnknownSequence:
            log.warning("%s was made again, or restored: it is followed from now on", self.name)
            self._forget()
            self._is_new = False
            return True
        if not self._goes_on():
            return False  # they are another watcher's
        for doc in changes.documents:
            self._apply(doc)
        self._tells = self._tells or not changes.more
        if changes.last_seq != place:
            self._keep(changes.last_seq)
        return changes.more

    def _begin(self) -> Any:
        """From now on, where it is not new; what was before may have been missed."""
        if self._is_new:
            return 0
        now = self._runtime.store.last_sequence(self._instance, self._doctype)
        for trigger_id, delay in self._triggers.of_doctype(self._instance, self._doctype):
            self._debounce.add(self._instance.domain, trigger_id, delay)
        self._keep(now)
        return now

    def _apply(self, doc: Document) -> None:
        if doc["_id"].startswith("_design/"):
            return
        event = Event.of_write(self._doctype, doc)
        if self._tells:
            # what this project wrote is announced already, by whoever wrote it: a revision is announced once
            self._runtime.publisher.publish(self._instance.domain, event)
        for trigger_id, delay in self._triggers.matching(self._instance, event.verb, self._doctype, doc):
            self._debounce.add(self._instance.domain, trigger_id, delay)

    def _place(self) -> Any:
        with _told():
            text = self._runtime.redis.hget(PLACES, self.name)
        return None if text is None else json.loads(text)

    def _keep(self, place: Any) -> None:
        with _told():
            self._runtime.redis.hset(PLACES, self.name, json.dumps(place))

    def _forget(self) -> None:
        with suppress(RedisError):
            self._runtime.redis.hdel(PLACES, self.name)


def _told() -> Any:
    return retryable(RedisError, "the databases are not followed: Redis does not answer")
