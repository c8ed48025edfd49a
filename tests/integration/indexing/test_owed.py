"""What is owed survives: marks, turns, the ledger and its sweep."""

import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from ragcore import turns
from ragcore import work as work_module
from ragcore.errors import NotFound, Retryable
from ragcore.indexing import run as run_module
from ragcore.indexing.run import Run, index_job, job_failed
from ragcore.indexing.workspaces import apply_diff
from ragcore.instances import DOCTYPE as INSTANCES
from ragcore.instances import Instance
from ragcore.jobs import FeedJob, IndexJob, OperateJob, WalkJob
from ragcore.ledger import LONGEST_WAIT, LOST_AFTER, owed_id
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL
from ragcore.turns import Lost, Taken, take_turn
from ragcore.work import Sweeper, Work
from tasks import base as tasks_base
from tasks.app import create_app
from tasks.base import CeleryQueue, IndexTask
from tests.support.files import Drive
from tests.support.queue import Recorded
from tests.support.sandbox import Sandbox


@pytest.fixture
def queue() -> Recorded:
    return Recorded()


@pytest.fixture
def work(runtime: Runtime, queue: Recorded) -> Work:
    return Work(runtime, queue)


@pytest.fixture
def domain(instance: Instance) -> str:
    return instance.domain


def test_a_job_that_waits_in_the_queue_serves_for_the_next(work: Work, queue: Recorded, domain: str) -> None:
    first = work.feed(domain)
    assert work.feed(domain) == first
    (job,) = queue.jobs
    assert job == FeedJob(domain, first)
    assert work.documents(domain).get(first)["state"] == "queued"


def test_a_job_that_cannot_be_enqueued_is_owed_and_not_marked(work: Work, queue: Recorded, domain: str) -> None:
    queue.broken = True
    with pytest.raises(Retryable):
        work.feed(domain)
    assert work.ledger.get(FeedJob(domain)) is not None
    queue.broken = False
    work.sweep(time.time())
    assert FeedJob(domain) in [FeedJob(job.domain) for job in queue.jobs]


def test_a_job_that_is_done_is_owed_no_more(work: Work, queue: Recorded, domain: str) -> None:
    job_id = work.feed(domain)
    states: list[str] = []
    index_job(work, queue.jobs[0], lambda run: states.append(work.documents(domain).get(job_id)["state"]))
    document = work.documents(domain).get(job_id)
    assert states == ["running"]
    assert (document["state"], document["error"]) == ("done", "")
    assert document["queued_at"] <= document["started_at"] <= document["finished_at"]
    assert work.ledger.get(FeedJob(domain)) is None


def test_a_message_that_comes_twice_is_no_work_and_hinders_none(work: Work, queue: Recorded, domain: str) -> None:
    work.feed(domain)
    index_job(work, queue.jobs[0], lambda run: None)
    turns.mark(work.runtime.redis, owed_id(FeedJob(domain)))  # as the sweep does when it is a moment late
    index_job(work, queue.jobs[0], lambda run: pytest.fail("a message that came twice is no work"))
    work.feed(domain)
    assert len(queue.jobs) == 2


def test_one_job_of_an_instance_at_a_time(work: Work, queue: Recorded, domain: str) -> None:
    """The one that finds the turn taken waits, and is enqueued when the turn is over."""
    work.feed(domain)
    work.walk(domain, "some-folder")
    feed, walk = queue.jobs

    def meanwhile(run: Run) -> None:
        assert not run.turn.is_wanted()
        with pytest.raises(Taken):
            index_job(work, walk, lambda other: pytest.fail("two at once"))
        assert run.turn.is_wanted()
        assert work.sweep(time.time()) == 0 or domain not in [job.domain for job in queue.jobs[2:]]

    index_job(work, feed, meanwhile)
    assert queue.jobs[-1] == walk


def test_what_is_asked_for_while_it_runs_runs_again(work: Work, queue: Recorded, domain: str) -> None:
    work.feed(domain)

    def meanwhile(run: Run) -> None:
        work.feed(domain)
        with pytest.raises(Taken):
            index_job(work, queue.jobs[-1], lambda other: pytest.fail("two at once"))

    index_job(work, queue.jobs[0], meanwhile)
    assert len(queue.jobs) == 3
    assert work.ledger.get(FeedJob(domain)) is not None
    index_job(work, queue.jobs[-1], lambda run: None)
    assert work.ledger.get(FeedJob(domain)) is None


def test_a_job_that_waits_for_its_turn_serves_for_the_next(work: Work, queue: Recorded, domain: str) -> None:
    turn = take_turn(work.runtime.redis, domain, "another")
    first = work.operate(domain, "prune")
    with pytest.raises(Taken):
        index_job(work, queue.jobs[0], lambda run: pytest.fail("two at once"))
    assert work.operate(domain, "prune") == first
    work.push_again(turn.end())
    assert queue.jobs == [OperateJob(domain, "prune", first)] * 2
    index_job(work, queue.jobs[1], lambda run: None)
    assert work.documents(domain).get(first)["state"] == "done"


def test_a_job_with_more_to_do_hands_it_to_the_one_that_was_asked_for_meanwhile(
    work: Work, queue: Recorded, domain: str
) -> None:
    first = work.feed(domain)
    later: list[str] = []

    def meanwhile(run: Run) -> None:
        later.append(work.feed(domain))
        run.again = True

    index_job(work, queue.jobs[0], meanwhile)
    assert [work.documents(domain).get(job)["state"] for job in (first, *later)] == ["done", "queued"]
    index_job(work, queue.jobs[1], lambda run: None)
    assert work.documents(domain).get(later[0])["state"] == "done"


def test_a_job_that_fails_takes_no_other_along(work: Work, queue: Recorded, domain: str) -> None:
    first = work.operate(domain, "prune")
    later: list[str] = []

    def fail(run: Run) -> None:
        later.append(work.operate(domain, "prune"))
        raise Retryable("openRAG is away")

    with pytest.raises(Retryable) as raised:
        index_job(work, queue.jobs[0], fail)
    job_failed(work, queue.jobs[0], raised.value)
    assert [work.documents(domain).get(job)["state"] for job in (first, *later)] == ["errored", "queued"]
    assert work.ledger.get(OperateJob(domain, "prune")) is not None
    index_job(work, queue.jobs[1], lambda run: None)
    assert work.documents(domain).get(later[0])["state"] == "done"


def test_an_instance_takes_turns_under_its_own_domain(
    work: Work, queue: Recorded, runtime: Runtime, instance: Instance
) -> None:
    alias = f"alias-of-{instance.domain}"
    doc = runtime.instances.document(instance.domain)
    runtime.store.save(GLOBAL, INSTANCES, {**doc, "domain_aliases": [alias]})
    assert work.feed(alias) == work.feed(instance.domain)
    work.walk(alias, "some-folder")
    work.operate(alias, "prune")
    assert {job.domain for job in queue.jobs} == {instance.domain}


def test_a_job_that_breaks_off_frees_the_turn_and_stays_owed(work: Work, queue: Recorded, domain: str) -> None:
    work.feed(domain)

    def fail(run: Run) -> None:
        raise Retryable("openRAG is away")

    with pytest.raises(Retryable):
        index_job(work, queue.jobs[0], fail)
    assert work.ledger.get(FeedJob(domain)) is not None
    take_turn(work.runtime.redis, domain, "another").end()


def test_the_sweep_tries_again_less_and_less_often(work: Work, queue: Recorded, domain: str) -> None:
    job_id = work.feed(domain)
    waits = []
    for _ in range(9):
        began = time.time()
        job_failed(work, FeedJob(domain), Retryable("openRAG is away"))
        owed = work.ledger.get(FeedJob(domain))
        assert owed is not None
        waits.append(round(owed.not_before - began, -1))
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    document = work.documents(domain).get(job_id)
    assert (document["state"], document["error"]) == ("errored", "openRAG is away")
    turns.unmark(work.runtime.redis, owed.id)
    queue.jobs.clear()
    work.sweep(time.time())
    assert domain not in [job.domain for job in queue.jobs]
    work.sweep(time.time() + 3700)
    assert domain in [job.domain for job in queue.jobs]


def test_what_failed_does_not_wait_for_a_clock_that_was_set_back(work: Work, queue: Recorded, domain: str) -> None:
    work.feed(domain)
    job_failed(work, FeedJob(domain), Retryable("openRAG is away"))
    turns.unmark(work.runtime.redis, f"feed:{domain}")
    queue.jobs.clear()
    work.sweep(time.time() - 3600)
    assert domain in [job.domain for job in queue.jobs]


def test_a_turn_that_was_lost_is_noticed(work: Work, domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LEASE", 0.05)
    monkeypatch.setattr(turns.Turn, "keep", lambda turn: None)  # as if the process were frozen
    turn = take_turn(work.runtime.redis, domain, "one")
    deadline = time.monotonic() + 5
    while turns.state(work.runtime.redis, domain, "one").runs:
        assert time.monotonic() < deadline
    other = take_turn(work.runtime.redis, domain, "two")
    with pytest.raises(Lost):
        turn.check()
    assert turn.end() == []
    assert turns.state(work.runtime.redis, domain, "two").runs or other.end() == []


def unserved(work: Work, instance: Instance) -> set[str]:
    """The workspaces that the diff could not make, or remove."""
    found: set[str] = set()
    job = FeedJob(instance.domain)
    work.ledger.add(job)
    index_job(work, job, lambda run: found.update(apply_diff(run)))
    return found


def test_a_workspace_whose_walk_cannot_be_enqueued_is_taken_back(
    work: Work, queue: Recorded, runtime: Runtime, instance: Instance
) -> None:
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    openrag = runtime.openrag(instance)
    queue.broken = True
    assert unserved(work, instance) == {folder.id}
    assert openrag.workspaces() == set()
    assert work.ledger.get(WalkJob(instance.domain, folder.id)) is None
    queue.broken = False
    assert unserved(work, instance) == set()
    assert openrag.workspaces() == {folder.id}
    assert [job.dir_id for job in queue.jobs] == [folder.id]


def test_a_workspace_that_cannot_be_made_owes_no_walk(
    work: Work, queue: Recorded, runtime: Runtime, instance: Instance, sandbox: Sandbox
) -> None:
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    sandbox.fault(method="POST", route=f"/partition/{instance.domain}/workspaces", status=500, times=1)
    assert unserved(work, instance) == {folder.id}
    assert work.ledger.get(WalkJob(instance.domain, folder.id)) is None
    assert queue.jobs == []


class Executed:
    """An index task that raises these errors, one at each execution, here and now, without a worker."""

    def __init__(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, *outcomes: Exception | None, pushed: bool = False
    ) -> None:
        """`pushed`: while the job runs, another message of the same work comes."""
        self.count = 0
        left = list(outcomes)

        def job(**message: str) -> None:
            self.count += 1
            work = owed_id(FeedJob(message["domain"]))
            turns.unmark(runtime.redis, work)  # as taking the turn does
            if pushed:
                turns.mark(runtime.redis, work)
            if error := left.pop(0):
                raise error

        monkeypatch.setattr(IndexTask, "runtime", runtime)
        app = create_app(runtime.config)
        app.conf.task_always_eager = True
        self._task = app.task(job, base=IndexTask, name=f"rag-index.test-{uuid.uuid4().hex}", shared=False)

    def run(self, domain: str) -> None:
        self._task.apply(kwargs={"domain": domain}).get(disable_sync_subtasks=False)


@pytest.mark.parametrize("error", [Retryable("later"), Retryable("later", 60), NotFound("gone"), KeyError("bug")])
def test_a_job_that_fails_is_executed_three_times(
    runtime: Runtime, work: Work, domain: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    job_id = work.feed(domain)
    executed = Executed(runtime, monkeypatch, error, error, error, None)
    executed.run(domain)
    assert executed.count == 3
    assert work.documents(domain).get(job_id)["state"] == "errored"
    owed = work.ledger.get(FeedJob(domain))
    assert owed is not None
    assert owed.failures == 1


def test_a_job_that_waits_for_its_turn_is_no_failure(
    runtime: Runtime, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed = Executed(runtime, monkeypatch, Taken("another runs"), None)
    executed.run(domain)
    assert executed.count == 1


def test_a_job_that_fails_while_its_next_message_waits_is_not_enqueued_twice(
    runtime: Runtime, work: Work, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed = Executed(runtime, monkeypatch, Retryable("openRAG is away"), None, pushed=True)
    executed.run(domain)
    assert executed.count == 1


def test_a_walk_gives_way_to_a_feed_job(
    runtime: Runtime, instance: Instance, sandbox: Sandbox, until: Callable
) -> None:
    work = Work(runtime, CeleryQueue(create_app(runtime.config)))
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    for number in range(12):
        for name in "ab":
            drive.file(f"/Papers/{number:02}/{name}.txt", f"{number} {name}")
    drive.assistant(folder)
    sandbox.set(call_delay=0.15)
    work.feed(instance.domain)
    openrag = runtime.openrag(instance)
    until(lambda: sandbox.calls("/file/", "POST"))
    walk = work.ledger.get(WalkJob(instance.domain, folder.id))
    assert walk is not None
    added = drive.file("/Papers/00/c.txt", "added")
    work.feed(instance.domain)
    until(lambda: (owed := work.ledger.get(walk.job)) is None or owed.place.get("path"), within=30)
    until(lambda: sandbox.calls(f"/file/{added['_id']}$", "POST"), within=30)
    until(lambda: len(set(openrag.files(folder.id))) == 25, within=60)
    sandbox.set(call_delay=0)
    until(lambda: work.documents(instance.domain).get(walk.job_id)["state"] == "done", within=30)
    until(lambda: work.ledger.get(WalkJob(instance.domain, folder.id)) is None)


def test_a_workspace_that_was_made_though_nobody_heard_is_undone(
    work: Work, queue: Recorded, runtime: Runtime, instance: Instance, sandbox: Sandbox
) -> None:
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    openrag = runtime.openrag(instance)
    sandbox.fault(method="POST", route="/workspaces$", cut=True, after=True, times=1)
    assert unserved(work, instance) == {folder.id}
    assert openrag.workspaces() == set()
    assert work.ledger.get(WalkJob(instance.domain, folder.id)) is None
    assert unserved(work, instance) == set()
    assert [job.dir_id for job in queue.jobs] == [folder.id]


def test_a_workspace_that_cannot_be_undone_is_walked(
    work: Work, queue: Recorded, runtime: Runtime, instance: Instance, sandbox: Sandbox
) -> None:
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    sandbox.fault(method="POST", route="/workspaces$", cut=True, after=True, times=1)
    sandbox.fault(method="DELETE", route=f"/workspaces/{folder.id}$", status=503, times=None)
    assert unserved(work, instance) == {folder.id}
    assert work.ledger.get(WalkJob(instance.domain, folder.id)) is not None


def test_a_job_that_has_failed_for_weeks_waits_as_long_as_one_can(work: Work, domain: str) -> None:
    work.feed(domain)
    owed = work.ledger.get(FeedJob(domain))
    assert owed is not None
    work.ledger.failed(work.ledger.save(owed, failures=5000), 0.0)
    owed = work.ledger.get(FeedJob(domain))
    assert owed is not None
    assert (owed.failures, owed.wait) == (5001, LONGEST_WAIT)


def test_a_walk_that_is_asked_for_again_begins_at_the_beginning(work: Work, queue: Recorded, domain: str) -> None:
    """Also one that waits for its turn: its folder may have been taken away and given back meanwhile."""
    work.walk(domain, "folder")
    owed = work.ledger.get(WalkJob(domain, "folder"))
    assert owed is not None
    work.ledger.save(owed, place={"path": "/Papers/z"})
    work.walk(domain, "folder")
    again = work.ledger.get(WalkJob(domain, "folder"))
    assert again is not None
    assert again.place == {}
    assert len(queue.jobs) == 1


def test_a_message_on_its_way_is_missed_soon(work: Work, queue: Recorded, runtime: Runtime, domain: str) -> None:
    """Its sender may be killed: the mark stays long once the message is in the queue."""
    turns.mark(runtime.redis, "one")
    assert 0 < runtime.redis.pttl(turns.mark_key("one")) <= turns.ON_ITS_WAY * 1000
    work.feed(domain)
    assert runtime.redis.pttl(turns.mark_key(owed_id(FeedJob(domain)))) > turns.ON_ITS_WAY * 1000


def queued_for(work: Work, job: IndexJob, seconds: float) -> None:
    """Its message is in the queue for so long."""
    work.runtime.redis.pexpire(turns.mark_key(owed_id(job)), int((turns.MARKED - seconds) * 1000))


@pytest.fixture
def nobody_sweeps(runtime: Runtime) -> Iterator[None]:
    """Of the stack."""
    runtime.redis.set(work_module.SWEEPING, "the tests", px=60_000)
    yield
    runtime.redis.delete(work_module.SWEEPING)


def swept(work: Work, domain: str) -> list[IndexJob]:
    """The jobs of the instance that a sweep enqueues; the queue holds them no more."""
    before = work.queue.jobs.copy()
    work.sweep(time.time())
    added, work.queue.jobs[:] = work.queue.jobs[len(before) :], before
    return [job for job in added if job.domain == domain]


def test_a_message_that_the_queue_lost_is_missed_when_the_queue_is_empty(
    work: Work, queue: Recorded, domain: str, nobody_sweeps: None
) -> None:
    """A worker died with it. While others wait, it may be one of them."""
    work.feed(domain)
    lost = queue.jobs.pop()
    assert swept(work, domain) == []  # it may just have been taken
    queued_for(work, lost, LOST_AFTER + 1)
    queue.jobs.append(lost)
    assert swept(work, domain) == []
    queue.jobs.clear()
    assert swept(work, domain) == [lost]
    assert swept(work, domain) == []


@pytest.mark.parametrize("said_late", [False, True])
def test_a_job_that_is_tried_again_later_is_not_taken_for_lost(
    work: Work, queue: Recorded, domain: str, said_late: bool, nobody_sweeps: None
) -> None:
    """Its message is with a worker until then, and in no queue."""
    work.feed(domain)
    queue.jobs.clear()
    turns.unmark(work.runtime.redis, owed_id(FeedJob(domain)))
    turns.mark_later(work.runtime.redis, owed_id(FeedJob(domain)), 90)
    if said_late:
        turns.in_queue(work.runtime.redis, owed_id(FeedJob(domain)))  # by who sent the message that it had before
    queued_for(work, FeedJob(domain), LOST_AFTER + 1)
    assert swept(work, domain) == []


@pytest.mark.parametrize("priority", [None, 0, 4, 6, 9])
def test_a_message_of_any_priority_waits_in_the_queue(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, priority: int | None
) -> None:
    monkeypatch.setattr(tasks_base, "INDEX", f"rag-index-{uuid.uuid4().hex}")
    jobs = CeleryQueue(create_app(runtime.config))
    assert not jobs.has_index_jobs()
    jobs.app.send_task("nothing", queue=tasks_base.INDEX, priority=priority)
    assert jobs.has_index_jobs()
    with jobs.app.connection_for_write() as connection:
        connection.default_channel.queue_purge(tasks_base.INDEX)
    assert not jobs.has_index_jobs()


def test_a_job_whose_worker_is_killed_before_its_turn_is_missed_soon(
    work: Work, queue: Recorded, runtime: Runtime, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.feed(domain)

    def killed(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(run_module, "take_turn", killed)
    with pytest.raises(SystemExit):
        index_job(work, queue.jobs[0], lambda _: None)
    turns.in_queue(runtime.redis, owed_id(FeedJob(domain)))  # its sender comes to say so late
    assert 0 < runtime.redis.pttl(turns.mark_key(owed_id(FeedJob(domain)))) <= turns.ON_ITS_WAY * 1000


def test_after_a_lost_redis_nobody_sweeps_before_the_leases_are_renewed(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, until: Callable
) -> None:
    redis, sweeper = runtime.redis, Sweeper(runtime.redis, [])
    for name in ("SWEEPING", "KNOWN"):
        monkeypatch.setattr(work_module, name, f"test:{name}")
    redis.delete("test:SWEEPING", "test:KNOWN")
    monkeypatch.setattr(turns, "LEASE", 60.0)
    assert not sweeper._may_sweep()
    assert not sweeper._may_sweep()
    assert redis.pttl("test:KNOWN") > 0
    monkeypatch.setattr(turns, "LEASE", 0.05)
    until(sweeper._may_sweep)
    assert not sweeper._may_sweep()  # another has just done so
    redis.delete("test:SWEEPING", "test:KNOWN")
