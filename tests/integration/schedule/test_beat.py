"""`ragcore beat`, as processes: two at once, each due time once."""

import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from deploy.local.process import Process
from deploy.local.stack import Stack
from ragcore import config
from ragcore.errors import NotFound
from ragcore.files.edit import Editor
from ragcore.indexing.reindex import KEY
from ragcore.instances import Instance
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.triggers.documents import Trigger, Triggers
from ragcore.triggers.due import TRIGGERS, DueTimes
from tests.support.cli import run
from tests.support.files import Drive, new_instance
from tests.support.workers import beat

SERVICES = ("redis", "couchdb", "openrag", "worker-index", "beat")
FEED = {"doctype": "io.cozy.files"}
LOCK = "ragcore:beat:lock"
TAKES_OVER = 15.0  # seconds


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    every_second = {"contexts": {"soon": {"reindex": "* * * * * *"}, "default": {"reindex": ""}}}
    with Stack(tmp_path_factory.mktemp("beats"), services=SERVICES, config=every_second) as stack:
        yield stack


@pytest.fixture(scope="module")
def second(own: Stack) -> Iterator[Process]:
    process = beat(own, "beat-2")
    process.start()
    yield process
    process.stop()


@pytest.fixture
def runtime(own: Stack) -> Iterator[Runtime]:
    made = Runtime(config.load({**os.environ, "RAGCORE_CONFIG": ""}, Path(own.config_path)))
    yield made
    made.publisher.flush()


@pytest.fixture
def instance(runtime: Runtime) -> Iterator[Instance]:
    made = new_instance(runtime)
    yield made
    runtime.instances.remove(made.domain)


@pytest.fixture
def active(own: Stack, second: Process, runtime: Runtime, until: Callable) -> Process:
    """The only one that runs."""
    second.stop()
    runtime.redis.delete(LOCK)
    until(lambda: runtime.redis.exists(LOCK))
    return own.processes["beat"]


@pytest.fixture
def waiting(active: Process, second: Process) -> Process:
    second.start()
    return second


@pytest.fixture
def triggers(runtime: Runtime, instance: Instance) -> Triggers:
    """As the API and the command line have them."""
    return Triggers(runtime.store, instance, DueTimes(runtime.redis))


def queued_at(job: Document) -> float:
    return datetime.fromisoformat(job["queued_at"]).timestamp()


@pytest.mark.usefixtures("second")
def test_two_beats_start_one_job_for_each_due_time(triggers: Triggers, until: Callable) -> None:
    trigger = triggers.create(Trigger("@every", "2s", "rag-index", FEED))
    made = datetime.fromisoformat(trigger.created_at).timestamp()
    until(lambda: len(triggers.jobs(trigger.id)) >= 5, within=20)
    triggers.delete(trigger)
    due_times = [int((queued_at(job) - made) // 2) for job in reversed(triggers.jobs(trigger.id))]
    assert len(set(due_times)) == len(due_times)


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize(("type_", "arguments"), [("@in", "2s"), ("@at", "2020-01-01T00:00:00Z")])
def test_what_is_due_once_fires_once_and_goes(triggers: Triggers, until: Callable, type_: str, arguments: str) -> None:
    trigger = triggers.create(Trigger(type_, arguments, "rag-index", FEED))

    def is_gone() -> bool:
        try:
            return triggers.get(trigger.id) is None
        except NotFound:
            return True

    until(is_gone)
    after = triggers.create(Trigger("@every", "2s", "rag-index", FEED))
    until(lambda: len(triggers.jobs(after.id)) == 2)
    assert len(triggers.jobs(trigger.id)) == 1


def test_an_emptied_redis_costs_no_trigger(runtime: Runtime, triggers: Triggers, until: Callable) -> None:
    trigger = triggers.create(Trigger("@every", "2s", "rag-index", FEED))
    until(lambda: triggers.jobs(trigger.id))
    runtime.redis.flushdb()
    before = len(triggers.jobs(trigger.id))
    until(lambda: len(triggers.jobs(trigger.id)) >= before + 2, within=20)
    assert runtime.redis.exists(LOCK)


def test_a_redis_that_was_away(own: Stack, runtime: Runtime, triggers: Triggers, until: Callable) -> None:
    trigger = triggers.create(Trigger("@every", "2s", "rag-index", FEED))
    own.processes["redis"].restart()
    before = len(triggers.jobs(trigger.id))
    until(lambda: len(triggers.jobs(trigger.id)) >= before + 2, within=30)


def test_a_trigger_that_another_program_wrote_while_no_beat_ran(
    own: Stack, runtime: Runtime, instance: Instance, until: Callable
) -> None:
    """A beat that starts reads the documents."""
    runtime.redis.set(f"{TRIGGERS}:filled", "1")
    untold = Triggers(runtime.store, instance)
    trigger = untold.create(Trigger("@every", "2s", "rag-index", FEED))
    own.processes["beat"].restart()
    until(lambda: untold.jobs(trigger.id), within=20)


@pytest.mark.parametrize("end", [Process.stop, Process.kill], ids=["stopped", "killed"])
def test_another_beat_takes_over(
    runtime: Runtime, active: Process, waiting: Process, until: Callable, end: Callable[[Process], None]
) -> None:
    holder = runtime.redis.get(LOCK)
    end(active)
    gone = time.monotonic()
    until(lambda: runtime.redis.get(LOCK) not in (None, holder), within=TAKES_OVER)
    assert end is Process.kill or time.monotonic() - gone < 5  # it gave the lock back
    until(lambda: "this beat is active" in waiting.output())
    active.start()


def test_the_next_beat_brings_the_entries_that_redis_lost(
    runtime: Runtime, active: Process, waiting: Process, until: Callable
) -> None:
    active.kill()
    runtime.redis.flushdb()
    until(lambda: "this beat is active" in waiting.output(), within=TAKES_OVER)
    until(lambda: runtime.redis.zscore("ragcore:beat::schedule", "ragcore:beat:due"))
    active.start()


def test_a_frozen_beat_does_not_go_on_beside_the_next(
    runtime: Runtime, active: Process, waiting: Process, until: Callable
) -> None:
    active.handle.send_signal(signal.SIGSTOP)
    try:
        until(lambda: "this beat is active" in waiting.output(), within=TAKES_OVER)
        holder = runtime.redis.get(LOCK)
    finally:
        active.handle.send_signal(signal.SIGCONT)
    until(lambda: active.output().rstrip().endswith("no longer owned"))
    assert runtime.redis.get(LOCK) == holder


def test_the_reindex_walks_by_itself(runtime: Runtime, until: Callable) -> None:
    instance = runtime.instances.add(f"r{uuid.uuid4().hex[:12]}.localhost", "soon")
    Editor(runtime.store, runtime.storage, instance).prepare()
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    DueTimes(runtime.redis, KEY).fill_again()

    def walks() -> list[Document]:
        found = runtime.store.all(instance, JOBS)
        return [job for job in found if job["message"].get("reconcile_dir_id") == folder.id and job["state"] == "done"]

    until(walks, within=30)
    runtime.instances.remove(instance.domain)


def test_check_says_when_no_beat_is_active(own: Stack, second: Process, runtime: Runtime, until: Callable) -> None:
    both = [own.processes["beat"], second]
    for process in both:
        process.stop()
    try:
        until(lambda: not runtime.redis.exists(LOCK))
        told = run("check", RAGCORE_CONFIG=str(own.config_path))
        assert told.returncode == 1
        assert "FAILED beat: none is active" in told.stdout
        assert "FAILED queue rag-schedule: no worker takes its jobs" in told.stdout
    finally:
        for process in both:
            process.start()
