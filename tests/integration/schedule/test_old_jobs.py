"""Jobs are kept for a week."""

from datetime import UTC, datetime

import pytest

from ragcore import old_jobs
from ragcore.instances import Instance
from ragcore.job_documents import DOCTYPE
from ragcore.old_jobs import KEPT, remove_old_jobs
from ragcore.runtime import Runtime
from ragcore.units import isoformat
from tests.integration.schedule.conftest import Clock


def save(runtime: Runtime, instance: Instance, name: str, state: str, ended: float | None, **fields: str) -> None:
    finished = {} if ended is None else {"finished_at": isoformat(datetime.fromtimestamp(ended, UTC))}
    runtime.store.save(instance, DOCTYPE, {"_id": name, "worker": "rag-index", "state": state, **finished, **fields})


def left(runtime: Runtime, instance: Instance) -> set[str]:
    return {doc["_id"] for doc in runtime.store.all(instance, DOCTYPE)}


def test_jobs_that_were_over_a_week_ago_go(runtime: Runtime, instance: Instance, clock: Clock) -> None:
    other, without = runtime.instances.add("other.localhost"), runtime.instances.add("without.localhost")
    old, young = clock.now - KEPT - 1, clock.now - KEPT + 1
    for owner in (instance, other):
        save(runtime, owner, "old", "done", old)
        save(runtime, owner, "failed", "errored", old)
        save(runtime, owner, "young", "done", young)
        save(runtime, owner, "again", "running", old)
        save(runtime, owner, "waits", "queued", None)
        save(runtime, owner, "another's", "done", old, worker="thumbnail")
    assert remove_old_jobs(runtime, clock.now) == 4
    for owner in (instance, other):
        assert left(runtime, owner) == {"young", "again", "waits", "another's"}
    assert left(runtime, without) == set()
    assert remove_old_jobs(runtime, clock.now) == 0


def test_a_call_removes_so_many_the_oldest_first(
    runtime: Runtime, instance: Instance, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_jobs, "AT_ONCE", 2)
    for n in (3, 1, 2):
        save(runtime, instance, f"j{n}", "done", clock.now - KEPT - 60 + n)
    assert remove_old_jobs(runtime, clock.now) == 2
    assert left(runtime, instance) == {"j3"}
    assert remove_old_jobs(runtime, clock.now) == 1
