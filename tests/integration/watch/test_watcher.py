"""The watcher, over the real document database."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ragcore.events.history import history_key
from ragcore.instances import Instance, Instances
from ragcore.runtime import Runtime
from ragcore.store import Document, Store, database_name
from ragcore.watch import watcher as watcher_module
from ragcore.watch.watcher import PLACES
from tests.integration.watch.conftest import Recorded


@pytest.fixture
def foreign(runtime: Runtime) -> Store:
    """Writes without an announcement, as a Cozy beside us does."""
    return Store(runtime.config.couchdb.url, lambda domain, event: None)


@pytest.fixture
def announced(apart: Runtime, instance: Instance, doctype: str) -> Callable[[], list[tuple[str, str]]]:
    """The verbs and ids of the events of the doctype."""

    def read() -> list[tuple[str, str]]:
        rows = apart.redis.xrange(history_key(instance.domain, ""))
        events = [json.loads(fields["e"]) for _, fields in rows]
        return [(e["event"], e["payload"]["id"]) for e in events if e["payload"]["type"] == doctype]

    return read


@pytest.fixture
def is_followed(apart: Runtime, instance: Instance, doctype: str, until: Callable) -> Callable[[], None]:
    name = database_name(instance.prefix, doctype)
    return lambda: until(lambda: apart.redis.hexists(PLACES, name))


def test_what_others_write_is_announced_and_fires(
    foreign: Store, instance: Instance, doctype: str, triggers: Recorded, watching, announced, is_followed, until
) -> None:
    foreign.make_database(instance, doctype)
    with watching(triggers):
        is_followed()
        until(lambda: triggers.fired)
        triggers.fired.clear()
        doc = foreign.save(instance, doctype, {"_id": "d1", "n": 1})
        until(lambda: announced() == [("CREATED", "d1")])
        doc = foreign.save(instance, doctype, doc | {"n": 2})
        until(lambda: announced()[1:] == [("UPDATED", "d1")])
        foreign.delete(instance, doctype, doc)
        until(lambda: announced()[2:] == [("DELETED", "d1")])
        until(lambda: triggers.fired)
    assert triggers.seen == [("CREATED", "d1"), ("UPDATED", "d1"), ("DELETED", "d1")]
    assert set(triggers.fired) == {(instance.domain, "t1")}


def test_what_this_project_writes_is_announced_once(
    apart: Runtime, instance: Instance, doctype: str, triggers: Recorded, watching, announced, is_followed, until
) -> None:
    apart.store.make_database(instance, doctype)
    with watching(triggers):
        is_followed()
        docs = [apart.store.save(instance, doctype, {"_id": f"d{number}"}) for number in range(20)]
        apart.store.save_all(instance, doctype, [doc | {"n": 1} for doc in docs[:10]])
        for doc in docs[10:]:
            apart.store.delete(instance, doctype, doc)
        until(lambda: len({doc_id for verb, doc_id in triggers.seen if verb != "CREATED"}) == 20)
        apart.publisher.flush()
    assert len(announced()) == len(set(announced())) == 40


def test_a_new_database_is_followed_at_once(
    apart: Runtime, instance: Instance, doctype: str, triggers: Recorded, watching, until
) -> None:
    with watching(triggers):
        until(lambda: apart.redis.hlen(PLACES))
        apart.store.save(instance, doctype, {"_id": "d1"})
        until(lambda: triggers.fired, within=watcher_module.RESCAN_EVERY / 2)


def test_a_new_instance_is_followed_without_a_restart(
    apart: Runtime, triggers: Recorded, doctype: str, watching, until
) -> None:
    with watching(triggers):
        until(lambda: apart.redis.hlen(PLACES))
        made = apart.instances.add(f"{doctype.rpartition('.')[2]}.localhost")
        apart.store.save(made, doctype, {"_id": "d1"})
        until(lambda: (made.domain, "t1") in triggers.fired, within=watcher_module.RESCAN_EVERY / 2)


def test_what_was_written_while_nobody_watched_fires(
    foreign: Store, instance: Instance, doctype: str, triggers: Recorded, watching, announced, is_followed, until
) -> None:
    foreign.make_database(instance, doctype)
    with watching(triggers):
        is_followed()
        until(lambda: triggers.fired)
    triggers.fired.clear()
    foreign.save(instance, doctype, {"_id": "d1"})
    with watching(triggers):
        until(lambda: triggers.fired)
        until(lambda: announced() == [("CREATED", "d1")])


def test_after_a_long_stop_it_fires_and_announces_no_old_news(
    apart: Runtime, foreign: Store, instance: Instance, doctype: str, triggers: Recorded, watching, announced,
    is_followed, until
) -> None:  # fmt: skip
    foreign.make_database(instance, doctype)
    with watching(triggers):
        is_followed()
        until(lambda: triggers.fired)
    triggers.fired.clear()
    apart.redis.set(watcher_module.SEEN_AT, 1)
    foreign.save(instance, doctype, {"_id": "d1"})
    with watching(triggers):
        until(lambda: triggers.fired)
        foreign.save(instance, doctype, {"_id": "d2"})
        until(announced)
    assert announced() == [("CREATED", "d2")]


def test_a_redis_that_lost_its_data_fires_once(
    apart: Runtime, foreign: Store, instance: Instance, doctype: str, triggers: Recorded, watching, is_followed, until
) -> None:
    foreign.save(instance, doctype, {"_id": "d1"})
    with watching(triggers):
        until(lambda: triggers.fired == [(instance.domain, "t1")])
        is_followed()
    apart.redis.flushdb()
    with watching(triggers):
        until(lambda: triggers.fired == [(instance.domain, "t1")] * 2)
    assert triggers.seen == []


def test_a_redis_that_loses_its_data_while_it_is_watched_fires_once_more(
    apart: Runtime, foreign: Store, instance: Instance, doctype: str, triggers: Recorded, watching, is_followed, until
) -> None:
    foreign.save(instance, doctype, {"_id": "d1"})
    with watching(triggers):
        until(lambda: triggers.fired == [(instance.domain, "t1")])
        is_followed()
        time.sleep(watcher_module.LOOK_EVERY * 2)  # the places were seen
        apart.redis.flushdb()
        until(lambda: triggers.fired == [(instance.domain, "t1")] * 2, within=30)


def test_a_database_that_was_made_again_is_followed(
    apart: Runtime, foreign: Store, instance: Instance, doctype: str, triggers: Recorded, watching, is_followed, until
) -> None:
    for number in range(5):
        foreign.save(instance, doctype, {"_id": f"old{number}"})
    with watching(triggers):
        is_followed()
        apart.store.server.resource(database_name(instance.prefix, doctype)).delete()
        foreign.make_database(instance, doctype)
        apart.redis.publish("ragcore:databases", "x")
        until(lambda: foreign.save(instance, doctype, {}) and any(verb == "CREATED" for verb, _ in triggers.seen))


def test_of_two_watchers_one_works_and_the_other_takes_over(
    foreign: Store, instance: Instance, doctype: str, watching, is_followed, until
) -> None:
    foreign.make_database(instance, doctype)
    one, two = Recorded(doctype), Recorded(doctype)
    with watching(two) as second:
        until(lambda: second._lead.is_mine)
        is_followed()
        with watching(one):
            foreign.save(instance, doctype, {"_id": "d1"})
            until(lambda: two.seen == [("CREATED", "d1")])
            assert one.seen == []
            second.stop()
            until(lambda: one.seen or foreign.save(instance, doctype, {}) is None)
    assert len(two.seen) == 1


class Updates(ThreadingHTTPServer):
    """Passes requests on to the database, and has CouchDB's `_db_updates` beside it: a name for each write told."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Updates)
        self.upstream = upstream.rstrip("/")
        self.names: list[str] = []
        self.failures = 0  # that the next requests for updates meet
        self.changed = threading.Condition()

    def tell(self, name: str) -> None:
        with self.changed:
            self.names.append(name)
            self.changed.notify_all()


class _Updates(BaseHTTPRequestHandler):
    server: Updates
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if not self.path.startswith("/_db_updates"):
            self._pass_on()
            return
        if self.server.failures:
            self.server.failures -= 1
            self._answer(503, b"{}")
            return
        since = self.path.partition("since=")[2].partition("&")[0]
        with self.server.changed:
            start = len(self.server.names) if since == "now" else int(since.partition("-")[0])
            if "longpoll" in self.path:
                self.server.changed.wait_for(lambda: len(self.server.names) > start, 5)
            names = self.server.names[start:]
        rows = [{"db_name": name, "type": "updated", "seq": "x"} for name in names]
        self._answer(200, json.dumps({"results": rows, "last_seq": f"{start + len(names)}-opaque"}).encode())

    def _pass_on(self) -> None:
        import requests

        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {"Content-Type": "application/json"}
        response = requests.request(
            self.command, self.server.upstream + self.path, data=body, headers=headers, timeout=60
        )
        self._answer(response.status_code, response.content)

    do_POST = _pass_on  # noqa: N815

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def updates(runtime: Runtime) -> Iterator[Updates]:
    with Updates(runtime.config.couchdb.url) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_server_that_tells_which_databases_change(
    apart: Runtime, updates: Updates, foreign: Store, instance: Instance, doctype: str, triggers: Recorded,
    watching, announced, is_followed, until, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    url = f"http://127.0.0.1:{updates.server_port}/"
    monkeypatch.setitem(apart.__dict__, "store", Store(url, apart.publisher.publish))
    monkeypatch.setattr(watcher_module, "HEARTBEAT", 3.0)
    foreign.make_database(instance, doctype)

    def write(doc: Document) -> None:
        foreign.save(instance, doctype, doc)
        updates.tell(database_name(instance.prefix, doctype))

    with watching(triggers):
        is_followed()
        until(lambda: triggers.fired)
        write({"_id": "d1"})
        until(lambda: announced() == [("CREATED", "d1")])
        write({"_id": "d2"})
        until(lambda: announced() == [("CREATED", "d1"), ("CREATED", "d2")])
    write({"_id": "d3"})
    with watching(triggers):
        until(lambda: ("CREATED", "d3") in triggers.seen)


def test_a_new_instance_is_found_whatever_is_told_first(
    apart: Runtime, updates: Updates, foreign: Store, instance: Instance, doctype: str, triggers: Recorded, watching,
    is_followed, until, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """And a database that is no instance's has nobody look for instances."""
    url = f"http://127.0.0.1:{updates.server_port}/"
    monkeypatch.setitem(apart.__dict__, "store", Store(url, apart.publisher.publish))
    monkeypatch.setattr(watcher_module, "HEARTBEAT", 3.0)
    foreign.make_database(instance, doctype)
    with watching(triggers):
        is_followed()
        listings: list[object] = []
        all_ = Instances.all
        monkeypatch.setattr(Instances, "all", lambda self: listings.append(self) or all_(self))
        updates.tell("global/rag-owed")
        made = Instances(foreign).add(f"{doctype.rpartition('.')[2]}.localhost")
        foreign.save(made, doctype, {"_id": "d1"})
        updates.tell(database_name(made.prefix, doctype))
        foreign.save(instance, doctype, {"_id": "d2"})
        updates.tell(database_name(instance.prefix, doctype))
        until(lambda: ("CREATED", "d2") in triggers.seen)
        assert ("CREATED", "d1") not in triggers.seen
        looked = len([each for each in listings if each is apart.instances])
        assert looked == 0
        updates.tell(watcher_module.INSTANCES)
        until(lambda: ("CREATED", "d1") in triggers.seen)


def test_it_is_late_for_what_was_written_before_it_began_alone(
    apart: Runtime, updates: Updates, foreign: Store, instance: Instance, doctype: str, triggers: Recorded, watching,
    announced, is_followed, until, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """A server that fails for a moment later does not make its news old."""
    url = f"http://127.0.0.1:{updates.server_port}/"
    monkeypatch.setitem(apart.__dict__, "store", Store(url, apart.publisher.publish))
    monkeypatch.setattr(watcher_module, "HEARTBEAT", 3.0)
    foreign.make_database(instance, doctype)
    apart.redis.set(watcher_module.SEEN_AT, 1)
    with watching(triggers):
        is_followed()
        updates.failures = 1
        updates.tell("global/rag-owed")
        until(lambda: not updates.failures)
        foreign.save(instance, doctype, {"_id": "d1"})
        updates.tell(database_name(instance.prefix, doctype))
        until(lambda: announced() == [("CREATED", "d1")])
