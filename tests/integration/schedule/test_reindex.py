"""The scheduled reindex."""

import pytest

from ragcore import turns
from ragcore.config import Context
from ragcore.indexing.reindex import AGAIN_AFTER, AT_ONCE, KEY, due_at, reindex_due, times
from ragcore.instances import Instance
from ragcore.jobs import WalkJob
from ragcore.ledger import owed_id
from ragcore.runtime import Runtime
from ragcore.triggers.due import DueTimes
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.integration.schedule.conftest import Clock
from tests.support.files import Drive
from tests.support.queue import Recorded

NIGHTLY = "0 0 1 * * *"
NIGHT = 86400.0


@pytest.fixture
def runtime(runtime: Runtime) -> Runtime:
    contexts = {"default": Context(reindex=NIGHTLY), "still": Context()}
    return Runtime(runtime.config.model_copy(update={"contexts": contexts}))


@pytest.fixture
def due(runtime: Runtime, clock: Clock) -> DueTimes:
    return DueTimes(runtime.redis, KEY, clock)


def fill(runtime: Runtime, due: DueTimes) -> None:
    due.fill_again()
    due.fill(times(runtime, due.now()))


def walks(queue: Recorded) -> set[tuple[str, str]]:
    assert all(job.background for job in queue.jobs)
    return {(job.domain, job.dir_id) for job in queue.jobs}


def end(work: Work, *jobs: WalkJob) -> None:
    """As a worker does."""
    for job in jobs:
        if owed := work.ledger.get(job):
            work.ledger.remove(owed)


@pytest.fixture(autouse=True)
def _nothing_is_owed(work: Work) -> None:
    for owed in work.ledger.all():
        work.ledger.remove(owed)


def test_every_knowledge_base_folder_is_walked_once_each_night(
    runtime: Runtime, work: Work, queue: Recorded, drive: Drive, instance: Instance, due: DueTimes, clock: Clock
) -> None:
    folders = [drive.folder("/One"), drive.folder("/Two")]
    for folder in folders:
        drive.assistant(folder)
    drive.folder("/Nobody's")
    fill(runtime, due)
    first = due_at(NIGHTLY, instance.domain, clock.now)
    assert first
    clock.now = first - 1
    assert reindex_due(work, due) == 0
    clock.now = first
    assert reindex_due(work, due) == 1
    assert walks(queue) == {(instance.domain, folder.id) for folder in folders}
    end(work, *queue.jobs)
    clock.now = first + NIGHT - 1
    assert reindex_due(work, due) == 0
    clock.now = first + NIGHT
    assert reindex_due(work, due) == 1


def test_few_walks_are_owed_at_once(runtime: Runtime, work: Work, queue: Recorded, due: DueTimes, clock: Clock) -> None:
    for n in range(AT_ONCE + 2):
        drive = Drive(runtime, runtime.instances.add(f"n{n}.localhost"))
        drive.assistant(drive.folder("/Papers"))
    runtime.instances.add("empty.localhost")
    fill(runtime, due)
    clock.now += NIGHT
    reindex_due(work, due)
    assert len(queue.jobs) == AT_ONCE
    assert reindex_due(work, due) == 0
    end(work, queue.jobs[0])
    reindex_due(work, due)
    assert len(walks(queue)) == AT_ONCE + 1
    failing = work.ledger.get(queue.jobs[-1])
    assert failing
    work.ledger.failed(failing, clock.now)  # one that waits for its next try keeps no other from its walk
    reindex_due(work, due)
    assert len(walks(queue)) == AT_ONCE + 2


def test_a_walk_that_is_owed_already_serves(
    runtime: Runtime, work: Work, queue: Recorded, drive: Drive, instance: Instance, due: DueTimes, clock: Clock
) -> None:
    folder = drive.folder("/One")
    drive.assistant(folder)
    work.walk(instance.domain, folder.id)
    turns.unmark(runtime.redis, owed_id(queue.jobs[0]))  # its message was lost, or it failed
    fill(runtime, due)
    clock.now += NIGHT
    assert reindex_due(work, due) == 1
    assert [job.background for job in queue.jobs] == [False]


def test_what_cannot_be_enqueued_is_walked_later(
    runtime: Runtime, work: Work, queue: Recorded, drive: Drive, due: DueTimes, clock: Clock
) -> None:
    for name in ("/One", "/Two"):
        drive.assistant(drive.folder(name))
    fill(runtime, due)
    clock.now += NIGHT
    queue.broken = True
    assert reindex_due(work, due) == 0
    queue.broken = False
    for owed in work.ledger.all():
        work.ledger.remove(owed)
    assert reindex_due(work, due) == 0
    clock.now += AGAIN_AFTER
    assert reindex_due(work, due) == 1
    assert len(walks(queue)) == 2


def test_a_context_without_the_setting_is_left_alone(
    runtime: Runtime, work: Work, queue: Recorded, due: DueTimes, clock: Clock
) -> None:
    still = Drive(runtime, runtime.instances.add("still.localhost", "still"))
    still.assistant(still.folder("/Papers"))
    runtime.instances.add("strange.localhost", "of-no-configuration")
    fill(runtime, due)
    assert runtime.redis.zcard(KEY) == 0
    due.add("still.localhost", NIGHTLY, clock.now)  # it had the setting once
    due.add("gone.localhost", NIGHTLY, clock.now)
    assert reindex_due(work, due) == 0
    assert runtime.redis.zcard(KEY) == 0
    assert queue.jobs == []


def test_a_background_walk_is_taken_after_all_that_waits(runtime: Runtime, instance: Instance, work: Work) -> None:
    app = create_app(runtime.config)
    celery = Work(runtime, CeleryQueue(app))
    celery.walk_in_background(instance.domain, "background")
    celery.walk(instance.domain, "asked-for")
    celery.feed(instance.domain)
    with app.connection_for_read() as connection, connection.SimpleQueue("rag-index") as messages:
        taken = [messages.get(timeout=5) for _ in range(3)]
        kwargs = [message.payload[1] for message in taken]
    assert [each.get("dir_id") for each in kwargs] == ["asked-for", None, "background"]


def test_a_background_walk_stays_one_in_the_ledger(work: Work, queue: Recorded, instance: Instance) -> None:
    work.walk_in_background(instance.domain, "folder")
    (job,) = queue.jobs
    owed = work.ledger.get(job)
    assert owed
    work.push(work.ledger.save(owed, place={"path": "/a"}))
    assert work.ledger.get(job).job == job  # type: ignore[union-attr]
