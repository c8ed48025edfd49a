"""openRAG away, slow to take, or refusing: what waits, what counts, what is given up on."""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from ragcore.documents import FILES, Directory
from ragcore.errors import Retryable
from ragcore.indexing.feed import CHECKPOINT
from ragcore.instances import Instance
from ragcore.ledger import Ledger
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox

MOST = 15  # attempts at a batch after the first
AWAY: list[dict[str, Any]] = [{"status": 503}, {"status": 500}, {"status": 404, "body": "no route"}, {"cut": True}]


def fail(indexer: Indexer, times: int) -> list[Retryable]:
    """Executes a feed job that many times, in vain."""
    errors = []
    indexer.work.feed(indexer.instance.domain)
    for _ in range(times):
        with pytest.raises(Retryable) as raised:
            indexer.run()
        errors.append(raised.value)
    return errors


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("fault", AWAY, ids=["503", "500", "another's 404", "cut"])
def test_an_outage_gives_up_on_nothing(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, fault: dict[str, Any]
) -> None:
    files = [drive.file(f"/Papers/{number}.txt", f"number {number}") for number in range(3)]
    gone = drive.file("/Papers/gone.txt", "gone")
    indexer.read_feed(gone)
    drive.editor.trash(gone)
    before = indexer.checkpoint()
    sandbox.fault(route=indexer.instance.domain, times=None, **fault)
    fail(indexer, MOST + 3)
    assert indexer.checkpoint() == before
    sandbox.reset()
    indexer.run()
    indexer.wait_for(*files)
    assert indexer.content_of(gone["_id"]) is None
    assert indexer.checkpoint().retries == 0


@pytest.mark.usefixtures("_at_once")
def test_an_outage_that_begins_within_a_batch_gives_up_on_nothing(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    """The workspaces are listed, and then nothing answers any more."""
    files = [drive.file(f"/Papers/{number}.txt", f"number {number}") for number in range(3)]
    domain = indexer.instance.domain
    before = indexer.checkpoint()
    indexer.work.feed(domain)
    for _ in range(MOST + 3):
        sandbox.reset()
        sandbox.fault(route=f"{domain}/workspaces$", delay=0.001, times=1)
        sandbox.fault(route=domain, status=503, times=None)
        with pytest.raises(Retryable):
            indexer.run()
        assert len(sandbox.calls(f"{domain}/file/", "GET")) == 9, "three attempts at each file"
    assert indexer.checkpoint() == before
    sandbox.reset()
    indexer.run()
    indexer.wait_for(*files)


@pytest.mark.usefixtures("_at_once")
def test_an_outage_is_no_reason_for_hundreds_of_calls(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    files = [drive.file(f"/Papers/{number}.txt", f"number {number}") for number in range(50)]
    domain = indexer.instance.domain
    sandbox.fault(route=f"{domain}/workspaces$", delay=0.001, times=1)
    sandbox.fault(route=domain, status=503, times=None)
    fail(indexer, 1)
    assert len(sandbox.calls(domain)) < 60, "of 150"
    sandbox.reset()
    sandbox.fault(route=domain, status=503, times=None)
    with pytest.raises(Retryable):
        indexer.run()
    assert len(sandbox.calls(domain)) == 1
    sandbox.reset()
    indexer.run()
    indexer.wait_for(*files)


@pytest.mark.usefixtures("_at_once")
def test_a_batch_with_one_file_that_always_fails_is_given_up_on(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, openrag: OpenRag
) -> None:
    bad, good = drive.file("/Papers/bad.txt", "bad"), drive.file("/Papers/good.txt", "good")
    before = indexer.checkpoint()
    sandbox.fault(method="POST", route=f"/file/{bad['_id']}$", status=500, times=None)
    job_id = indexer.work.feed(indexer.instance.domain)
    fail(indexer, MOST)
    assert (indexer.checkpoint().last_seq, indexer.checkpoint().retries) == (before.last_seq, MOST)
    indexer.wait_for(good)
    indexer.run()
    job = indexer.job(job_id)
    assert job["state"] == "errored"
    assert bad["_id"] in job["error"]
    assert good["_id"] not in job["error"]
    assert indexer.checkpoint().last_seq != before.last_seq
    assert indexer.checkpoint().retries == 0
    assert indexer.jobs == []
    next_one = drive.file("/Papers/next.txt", "next")
    indexer.read_feed(next_one)
    sandbox.reset()
    indexer.work.feed(indexer.instance.domain, reset=True)
    indexer.run()
    indexer.wait_for(bad)


@pytest.mark.usefixtures("_at_once")
def test_an_attempt_that_goes_well_ends_the_count(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    for name in ("one", "two"):
        bad = drive.file(f"/Papers/{name}.txt", name)
        sandbox.fault(method="POST", route=f"/file/{bad['_id']}$", status=500, times=None)
        fail(indexer, MOST - 5)
        assert indexer.checkpoint().retries == MOST - 5
        sandbox.reset()
        indexer.run()
        indexer.wait_for(bad)
        assert indexer.checkpoint().retries == 0


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_a_refusal_keeps_no_other_file_from_being_indexed(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, until: Callable, status: int
) -> None:
    bad, good = drive.file("/Papers/bad.txt", "bad"), drive.file("/Papers/good.txt", "good")
    route = f"/file/{bad['_id']}$"
    sandbox.fault(method="POST", route=route, status=status, times=None, body={"detail": "no"})
    job_id = indexer.read_feed(good)
    assert indexer.job(job_id)["state"] == "done"
    assert indexer.checkpoint().retries == 0
    assert (indexer.status(bad)["status"], indexer.status(bad)["docRev"]) == ("notsupported", bad["_rev"])
    assert indexer.status(bad)["reason"] == ("too_large" if status == 413 else "format")
    assert len(sandbox.calls(route, "POST")) == 1
    indexer.read_feed()
    assert len(sandbox.calls(route, "POST")) == 1
    sandbox.reset()
    changed = drive.replace(bad, "better")
    indexer.read_feed(changed)
    assert "reason" not in indexer.status(bad)
    until(lambda: indexer.status(bad).get("docRev") == changed["_rev"])


def test_a_file_that_is_refused_after_it_was_indexed_leaves_openrag(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, until: Callable
) -> None:
    """Its former content is wrong now."""
    file = drive.file("/Papers/one.txt", "short")
    indexer.read_feed(file)
    sandbox.set(max_file_size=10)
    changed = drive.replace(file, "long" * 10)
    indexer.read_feed()
    assert indexer.content_of(file["_id"]) is None
    until(lambda: indexer.status(file)["docRev"] == changed["_rev"])
    assert indexer.status(file)["status"] == "notsupported"


def test_a_full_partition_is_waited_for(folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox) -> None:
    sandbox.set(quota=1)
    file = drive.file("/Papers/one.txt", "one")
    fail(indexer, 1)
    assert "status" not in indexer.status(file)
    sandbox.set(quota=None)
    indexer.run()
    indexer.wait_for(file)


@pytest.mark.usefixtures("_at_once")
def test_a_partition_that_is_embedded_anew_is_waited_for(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    """For as long as it takes: the checkpoint waits."""
    sandbox.set(swap=[indexer.instance.domain])
    file = drive.file("/Papers/one.txt", "one")
    before = indexer.checkpoint()
    fail(indexer, MOST + 3)
    assert indexer.checkpoint() == before
    sandbox.set(swap=[])
    indexer.run()
    indexer.wait_for(file)


def test_a_server_that_asks_for_a_short_wait_gets_it(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    file = drive.file("/Papers/one.txt", "one")
    route = f"/file/{file['_id']}$"
    sandbox.fault(method="POST", route=route, status=429, headers={"Retry-After": "1"})
    indexer.read_feed(file)
    assert all(later["at"] - sooner["at"] >= 1 for sooner, later in pairwise(sandbox.calls(route, "POST")))
    assert len(sandbox.calls(route, "POST")) == 2


def test_the_job_is_told_of_a_long_wait(folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox) -> None:
    files = [drive.file(f"/Papers/{number}.txt", f"number {number}") for number in range(2)]
    for file, seconds in zip(files, (90, 40), strict=True):
        route = f"/file/{file['_id']}$"
        sandbox.fault(method="POST", route=route, status=429, headers={"Retry-After": str(seconds)})
    (error,) = fail(indexer, 1)
    assert error.retry_after == 90
    assert all(len(sandbox.calls(f"/file/{file['_id']}$", "POST")) == 1 for file in files), "not asked again"


def test_the_job_waits_as_long_as_the_server_asks(
    drive: Drive, runtime: Runtime, instance: Instance, sandbox: Sandbox, indexer: Indexer, folder: Directory
) -> None:
    """Executed by the workers: the first wait of a job would be a second."""
    file = drive.file("/Papers/one.txt", "one")
    route = f"/file/{file['_id']}$"
    sandbox.fault(method="POST", route=route, status=429, headers={"Retry-After": "6"})
    Work(runtime, CeleryQueue(create_app(runtime.config))).feed(instance.domain)
    indexer.wait_for(file)
    first, second = sandbox.calls(route, "POST")
    assert second["at"] - first["at"] >= 6


@pytest.mark.parametrize("last_seq", ["garbage", "12-g1AAAA", {"odd": 1}, [], -5, 10**9, None, True])
def test_a_checkpoint_that_says_nothing_starts_over(
    drive: Drive, runtime: Runtime, instance: Instance, indexer: Indexer, folder: Directory, last_seq: Any
) -> None:
    before = indexer.checkpoint()
    before.save(runtime.store, instance, last_seq, 3)
    file = drive.file("/Papers/one.txt", "one")
    indexer.openrag.delete_file(_first(drive)["_id"])
    indexer.read_feed(file, _first(drive))
    after = indexer.checkpoint()
    assert after.retries == 0
    assert isinstance(after.last_seq, type(before.last_seq))
    assert after.last_seq != before.last_seq


def _first(drive: Drive) -> Document:
    """A file that no change since the checkpoint tells of."""
    (found,) = drive.runtime.store.find(drive.instance, FILES, {"name": "first.txt"})
    return found


@pytest.mark.parametrize("doc", [{"last_seq": {}, "retries": "many"}, {"retries": None}, {"retries": -1}])
def test_an_odd_checkpoint_stops_nothing(
    drive: Drive, runtime: Runtime, instance: Instance, indexer: Indexer, folder: Directory, doc: Document
) -> None:
    current = runtime.store.get(instance, FILES, f"_local/{CHECKPOINT}")
    runtime.store.save_local(instance, FILES, CHECKPOINT, {"_rev": current["_rev"], **doc})
    indexer.read_feed(drive.file("/Papers/one.txt", "one"))
    assert indexer.checkpoint().retries == 0


def test_the_sweep_goes_on_with_what_an_outage_stopped(
    drive: Drive, runtime: Runtime, instance: Instance, indexer: Indexer, sandbox: Sandbox, folder: Directory
) -> None:
    """The last execution of a job failed: it is errored, and owed."""
    file = drive.file("/Papers/one.txt", "one")
    sandbox.fault(route=instance.domain, status=503, times=None)
    work = Work(runtime, CeleryQueue(create_app(runtime.config)))
    job_id = work.feed(instance.domain)
    indexer.until(lambda: indexer.job(job_id)["state"] == "errored", within=30)
    ledger = Ledger(runtime.store)
    (owed,) = [owed for owed in ledger.all() if owed.domain == instance.domain]
    assert owed.not_before > time.time() + 30
    sandbox.reset()
    ledger.save(owed, not_before=0.0)
    indexer.wait_for(file)
