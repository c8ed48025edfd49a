"""Operators' jobs: reset, reconcile, prune and purge."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from ragcore import turns
from ragcore.documents import ASSISTANTS, FILES, STATUSES, Directory
from ragcore.errors import Failed, NotFound, RagcoreError, Retryable
from ragcore.indexing import operate
from ragcore.indexing.apply import CHUNK
from ragcore.indexing.feed import Checkpoint
from ragcore.indexing.operate import Counts, run_operation
from ragcore.indexing.run import Run, index_job, job_failed
from ragcore.indexing.statuses import Statuses
from ragcore.indexing.uploads import Uploads
from ragcore.instances import Instance
from ragcore.jobs import FeedJob, OperateJob, WalkJob
from ragcore.ledger import owed_id
from ragcore.openrag import OpenRag, Upload
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.work import Work
from tests.support.between import Between
from tests.support.files import Drive
from tests.support.queue import Recorded
from tests.support.sandbox import Sandbox

LISTING = r"^/partition/[^/]+/?$"  # of the files


@pytest.fixture
def checkpoint(runtime: Runtime, instance: Instance) -> Callable[[], Checkpoint]:
    return lambda: Checkpoint.load(runtime.store, instance)


@pytest.fixture
def counts(work: Work, instance: Instance) -> Callable[[str], Counts | None]:
    """What an operation that is done by the workers counts."""
    return lambda job_id: operate.wait_for(work, instance.domain, job_id, 20)


@pytest.fixture
def two(drive: Drive, runtime: Runtime, instance: Instance, wake, indexed, idle) -> tuple[Directory, Document, str]:
    """Two folders are indexed, and one is used no more: the folder that is, its file, and the id of the other file."""
    kept, left = drive.folder("/Kept"), drive.folder("/Left")
    file, other = drive.file("/Kept/one.txt", "first"), drive.file("/Left/two.txt", "second")
    drive.assistant(kept)
    former = drive.assistant(left)
    wake()
    indexed(file, other)
    idle()
    runtime.store.delete(instance, ASSISTANTS, runtime.store.get(instance, ASSISTANTS, former))
    return kept, file, other["_id"]


def put(openrag: OpenRag, file_id: str, until: Callable) -> None:
    """A file that openRAG holds, whatever we know of it."""
    text = io.BytesIO(f"the text of {file_id}".encode())
    openrag.create_file(Upload(file_id, "x.txt", text, "text/plain", {}, "http://127.0.0.1:1/", ""))
    until(lambda: openrag.file_metadata(file_id) is not None)


def run_here(work: Work, domain: str, action: str) -> None:
    """Without a worker; what became of the job is recorded as a worker does."""
    job = OperateJob(domain, action)
    turns.mark(work.runtime.redis, owed_id(job))  # or the sweep would give it to the stack's workers
    work.ledger.add(job)
    try:
        run_operation(work, job)
    except RagcoreError as error:
        job_failed(work, job, error)
        raise


# Reset


def test_a_reset_goes_through_everything_again_and_sends_nothing_again(
    work: Work, drive: Drive, openrag: OpenRag, wake, indexed, idle, until, sandbox: Sandbox, checkpoint
) -> None:
    instance = drive.instance
    folder = drive.folder("/Papers")
    file, lost = drive.file("/Papers/one.txt", "first"), drive.file("/Papers/two.txt", "second")
    drive.assistant(folder)
    wake()
    indexed(file, lost)
    idle()
    before = checkpoint()
    openrag.delete_file(lost["_id"])
    sandbox.reset()
    (job_id,) = operate.reset(work, instance.domain)
    until(lambda: work.documents(instance.domain).get(job_id)["state"] == "done")
    assert checkpoint().last_seq == before.last_seq
    assert len(sandbox.calls(f"/file/{lost['_id']}$", "POST")) == 1
    assert sandbox.calls(f"/file/{file['_id']}$", "GET")
    assert [call["path"] for call in sandbox.calls("^/indexer/", "POST")] == [
        f"/indexer/partition/{instance.domain}/file/{lost['_id']}"
    ]
    assert sandbox.calls("^/indexer/", "PUT") == []


def test_a_reset_that_comes_while_a_job_runs_is_kept_for_the_next(
    runtime: Runtime, instance: Instance, checkpoint
) -> None:
    queue = Recorded()
    work = Work(runtime, queue)
    checkpoint().save(runtime.store, instance, "7-read", 3)
    work.feed(instance.domain)

    def meanwhile(run: Run) -> None:
        operate.reset(work, instance.domain)

    index_job(work, queue.jobs[0], meanwhile)
    assert checkpoint().last_seq == "7-read"
    owed = work.ledger.get(FeedJob(instance.domain))
    assert owed is not None
    assert owed.reset
    assert queue.jobs[1].job_id == owed.job_id


def test_a_reset_is_kept_by_the_job_that_waits_already(runtime: Runtime, instance: Instance) -> None:
    queue = Recorded()
    work = Work(runtime, queue)
    waiting = work.feed(instance.domain)
    assert operate.reset(work, instance.domain) == [waiting]
    owed = work.ledger.get(FeedJob(instance.domain))
    assert owed is not None
    assert owed.reset
    assert len(queue.jobs) == 1


@pytest.mark.parametrize("ask", [operate.reset, operate.reconcile, operate.prune, operate.purge])
def test_an_instance_that_is_not_there(work: Work, ask: Callable[[Work, str], object]) -> None:
    with pytest.raises(NotFound):
        ask(work, "nobody.localhost")


# Reconcile


def test_all_folders_are_walked_or_one(runtime: Runtime, instance: Instance, drive: Drive) -> None:
    queue = Recorded()
    work = Work(runtime, queue)
    one, two = drive.folder("/One"), drive.folder("/Two")
    for folder in (one, two, two):
        drive.assistant(folder)
    ids = operate.reconcile(work, instance.domain, two.id)
    assert queue.jobs == [WalkJob(instance.domain, two.id, *ids)]
    ids = operate.reconcile(work, instance.domain)
    assert {job.dir_id for job in queue.jobs} == {one.id, two.id}
    assert len(set(ids)) == len(queue.jobs) == 2


def test_a_folder_that_no_assistant_uses_is_not_walked(work: Work, instance: Instance, drive: Drive) -> None:
    drive.assistant(drive.folder("/Used"))
    for dir_id in (drive.folder("/Unused").id, "unknown", "../odd", "_all_docs"):
        with pytest.raises(NotFound):
            operate.reconcile(work, instance.domain, dir_id)
    assert [owed for owed in work.ledger.all() if owed.domain == instance.domain] == []


def test_a_reconcile_finds_what_openrag_lost(
    work: Work, two, drive: Drive, openrag: OpenRag, idle, until, instance: Instance
) -> None:
    kept, file, _ = two
    openrag.delete_file(file["_id"])
    (job_id,) = operate.reconcile(work, instance.domain, kept.id)
    until(lambda: work.documents(instance.domain).get(job_id)["state"] == "done")
    until(lambda: set(openrag.files(kept.id)) == {file["_id"]})


# Prune


def test_a_prune_deletes_what_no_folder_claims(
    work: Work, two, drive: Drive, openrag: OpenRag, counts, until, instance: Instance, runtime: Runtime
) -> None:
    kept, file, left = two
    moved, trashed = drive.file("/Kept/three.txt", "3"), drive.file("/Kept/four.txt", "4")
    for stray in (moved["_id"], trashed["_id"], "never-heard-of"):
        put(openrag, stray, until)
    drive.editor.move(moved, drive.folder("/Elsewhere"), "three.txt")
    drive.editor.trash(trashed)
    job_id = operate.prune(work, instance.domain)
    assert counts(job_id) == Counts(files_scanned=5, files_deleted=4, workspaces_deleted=1)
    assert set(openrag.files()) == {file["_id"]}
    assert openrag.workspaces() == {kept.id}
    assert set(openrag.files(kept.id)) == {file["_id"]}
    document = work.documents(instance.domain).get(job_id)
    assert (document["state"], document["message"]["operation"]) == ("done", "prune")
    assert document["result"] == {"files_scanned": 5, "files_deleted": 4, "workspaces_deleted": 1}
    again = operate.prune(work, instance.domain)
    assert counts(again) == Counts(files_scanned=1, files_deleted=0, workspaces_deleted=0)


def test_a_prune_keeps_a_file_that_a_folder_claims_whatever_workspace_it_is_in(
    work: Work, two, openrag: OpenRag, counts, instance: Instance
) -> None:
    kept, file, _ = two
    (unused,) = (openrag.workspaces() or set()) - {kept.id}
    openrag.add_to_workspace(unused, file["_id"])
    openrag.remove_from_workspace(kept.id, file["_id"])
    assert counts(operate.prune(work, instance.domain)) == Counts(2, 1, 1)
    assert set(openrag.files()) == {file["_id"]}


def test_a_prune_reads_the_list_once(work: Work, two, counts, sandbox: Sandbox, instance: Instance) -> None:
    sandbox.reset()
    counts(operate.prune(work, instance.domain))
    answered = [call for call in sandbox.calls(LISTING, "GET") if call["status"] == 200]
    assert len(answered) == 1
    deleted = next(call["at"] for call in sandbox.calls("^/indexer/", "DELETE"))
    assert answered[0]["at"] <= deleted


def test_a_prune_of_an_instance_without_a_partition(work: Work, openrag: OpenRag, counts, instance: Instance) -> None:
    assert counts(operate.prune(work, instance.domain)) == Counts()
    assert openrag.workspaces() is None


def test_a_prune_of_a_server_that_lists_links_alone(
    work: Work, two, openrag: OpenRag, counts, sandbox: Sandbox, instance: Instance
) -> None:
    sandbox.set(legacy=True)
    try:
        assert counts(operate.prune(work, instance.domain)) == Counts(2, 1, 1)
    finally:
        sandbox.set(legacy=False)
    assert set(openrag.files()) == {two[1]["_id"]}


GATEWAY = (404, {"message": "no route matched"})
ROWS = (200, {"rows": [{"key": "x", "error": "internal_server_error"}]})


def _is_of_parents(path: str, seen: list[str]) -> bool:
    """The scopes ask for folders first, then the files of a chunk are asked for, then their parents."""
    if "io-cozy-files/_all_docs" in path:
        seen.append(path)
    return "io-cozy-files/_all_docs" in path and len(seen) == 3


@pytest.mark.parametrize("answer", [GATEWAY, ROWS, (500, {"error": "internal"})])
@pytest.mark.parametrize("what", ["assistants", "files", "parents"])
def test_a_prune_that_cannot_read_the_instance_deletes_nothing(
    work_between: Work, between: Between, two, openrag: OpenRag, instance: Instance, what: str, answer: tuple[int, Any]
) -> None:
    seen: list[str] = []

    def spoil(method: str, path: str) -> tuple[int, Any] | None:
        path = path.replace("%2F", "/")
        spoiled = {
            "assistants": "io-cozy-ai-chat-assistants/_all_docs" in path,
            "files": "io-cozy-files/_all_docs" in path,
            "parents": _is_of_parents(path, seen),
        }
        return answer if spoiled[what] else None

    before = set(openrag.files()), openrag.workspaces()
    between.spoil = spoil
    with pytest.raises(Retryable):
        run_here(work_between, instance.domain, operate.PRUNE)
    assert (set(openrag.files()), openrag.workspaces()) == before
    assert what != "parents" or len(seen) == 3
    between.spoil = lambda method, path: None
    run_here(work_between, instance.domain, operate.PRUNE)
    assert set(openrag.files()) == {two[1]["_id"]}


def test_a_prune_that_cannot_read_the_last_files_of_a_long_list_deletes_none_of_the_first(
    work_between: Work, between: Between, two, openrag: OpenRag, instance: Instance, sandbox: Sandbox
) -> None:
    listed = {"files": [{"file_id": file_id} for file_id in (two[2], *map(str, range(CHUNK)))]}
    sandbox.fault(route=f"^/partition/{instance.domain}/?$", method="GET", status=200, body=listed)
    seen: list[str] = []

    def spoil(method: str, path: str) -> tuple[int, Any] | None:
        """The folders of the assistants, the files of the first chunk and their parents are read before."""
        if "io-cozy-files/_all_docs" not in path.replace("%2F", "/"):
            return None
        seen.append(path)
        return ROWS if len(seen) == 4 else None

    between.spoil = spoil
    with pytest.raises(Retryable):
        run_here(work_between, instance.domain, operate.PRUNE)
    assert len(seen) == 4
    assert two[2] in set(openrag.files())


FAULTS = {
    "an error": {"status": 500},
    "a page": {"status": 200, "body": "<html>sign in</html>"},
    "another 404": {"status": 404, "body": "<html>no such host</html>"},
    "no list": {"status": 200, "body": "{}"},
    "a cut": {"cut": True},
    "the middle": {"status": 200, "body": '{"files": [{"file_id": "%s"}, {"file'},
    "the middle of a long list": {"status": 200, "body": '{"files": [{"file_id": "%s"}' + ', {"file_id": "x"}' * 999},
    "an odd entry": {"status": 200, "body": '{"files": [{"file_id": "%s"}, {}]}'},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_prune_that_cannot_read_the_list_to_its_end_deletes_nothing(
    work: Work, two, openrag: OpenRag, sandbox: Sandbox, instance: Instance, fault: dict[str, Any], counts
) -> None:
    body = fault.get("body", "").replace("%s", two[2])
    before = set(openrag.files()), openrag.workspaces()
    sandbox.fault(route=f"^/partition/{instance.domain}/?$", method="GET", times=None, **fault | {"body": body})
    with pytest.raises(Failed):
        counts(operate.prune(work, instance.domain))
    sandbox.reset()
    assert (set(openrag.files()), openrag.workspaces()) == before


def test_a_prune_that_cannot_read_the_workspaces_deletes_nothing(
    work: Work, two, openrag: OpenRag, sandbox: Sandbox, instance: Instance, counts
) -> None:
    before = set(openrag.files()), openrag.workspaces()
    sandbox.fault(route=f"/partition/{instance.domain}/workspaces$", method="GET", times=None, status=500)
    with pytest.raises(Failed):
        counts(operate.prune(work, instance.domain))
    sandbox.reset()
    assert (set(openrag.files()), openrag.workspaces()) == before


def test_a_file_that_cannot_be_deleted_fails_the_prune_and_keeps_the_workspace_that_finds_it(
    work: Work, two, openrag: OpenRag, sandbox: Sandbox, instance: Instance, counts
) -> None:
    sandbox.fault(route=f"/file/{two[2]}$", method="DELETE", times=None, status=500)
    job_id = operate.prune(work, instance.domain)
    with pytest.raises(Failed, match=two[2]):
        counts(job_id)
    assert len(openrag.workspaces() or ()) == 2
    assert work.documents(instance.domain).get(job_id)["state"] == "errored"
    assert work.ledger.get(OperateJob(instance.domain, operate.PRUNE)) is None
    sandbox.reset()
    assert counts(operate.prune(work, instance.domain)) == Counts(2, 1, 1)


def test_what_waits_for_the_content_of_a_pruned_file_is_indexed(
    work: Work, two, drive: Drive, openrag: OpenRag, until, instance: Instance, runtime: Runtime, counts
) -> None:
    copy = drive.file("/Kept/copy.txt", "second")
    statuses = Statuses(runtime.store, instance, [copy["_id"]])
    statuses.remember_duplicate(copy["_id"], two[2])
    statuses.save()
    counts(operate.prune(work, instance.domain))
    until(lambda: set(openrag.files(two[0].id)) == {two[1]["_id"], copy["_id"]})


# Purge


def test_a_purge_deletes_everything_openrag_holds_and_the_checkpoint(
    work: Work, two, openrag: OpenRag, counts, instance: Instance, runtime: Runtime, checkpoint, until
) -> None:
    kept, file, other = two
    statuses = runtime.store.get_many(instance, STATUSES, [file["_id"], other])
    assert checkpoint().last_seq
    job_id = operate.purge(work, instance.domain)
    assert counts(job_id) == Counts(files_scanned=2, files_deleted=2, workspaces_deleted=2)
    assert openrag.workspaces() is None
    assert list(openrag.files()) == []
    assert checkpoint() == Checkpoint()
    assert runtime.store.get_many(instance, STATUSES, [file["_id"], other]) == statuses
    assert runtime.store.get(instance, FILES, file["_id"]) == file
    assert counts(operate.purge(work, instance.domain)) == Counts()
    operate.reset(work, instance.domain)
    until(lambda: openrag.workspaces() and set(openrag.files(kept.id)) == {file["_id"]})


def test_a_purge_takes_the_walks_back_that_are_owed_and_those_of_no_other_instance(
    runtime: Runtime, instance: Instance, drive: Drive
) -> None:
    queue = Recorded()
    work = Work(runtime, queue)
    other = runtime.instances.add(f"other-{instance.domain}")
    walk, others = work.walk(instance.domain, "some-folder"), work.walk(other.domain, "some-folder")
    run_here(work, instance.domain, operate.PURGE)
    assert work.ledger.get(WalkJob(instance.domain, "some-folder")) is None
    assert work.documents(instance.domain).get(walk)["state"] == "errored"
    assert work.ledger.get(WalkJob(other.domain, "some-folder")) is not None
    assert work.documents(other.domain).get(others)["state"] == "queued"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_purge_that_openrag_refuses_leaves_all_as_it_is(
    two, runtime: Runtime, instance: Instance, openrag: OpenRag, sandbox: Sandbox, checkpoint, method: str
) -> None:
    work = Work(runtime, Recorded())
    before = checkpoint()
    work.walk(instance.domain, two[0].id)
    sandbox.fault(route=f"^/partition/{instance.domain}/?$", method=method, times=None, status=500)
    with pytest.raises(Retryable):
        run_here(work, instance.domain, operate.PURGE)
    assert checkpoint() == before
    assert work.ledger.get(WalkJob(instance.domain, two[0].id)) is not None
    assert len(openrag.workspaces() or ()) == 2


def test_after_a_purge_no_upload_is_waited_for(
    work: Work, drive: Drive, openrag: OpenRag, runtime: Runtime, sandbox: Sandbox, wake, until, counts
) -> None:
    instance = drive.instance
    sandbox.set(index_delay=60)
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    uploads = Uploads(runtime.redis, instance.domain)
    until(lambda: uploads.of(file["_id"]).digest)
    counts(operate.purge(work, instance.domain))
    assert uploads.all() == []
    sandbox.set(index_delay=0)
    operate.reset(work, instance.domain)
    until(lambda: openrag.workspaces() and set(openrag.files(folder.id)) == {file["_id"]})


# The turn


def test_an_operation_waits_for_its_turn(
    work: Work, two, openrag: OpenRag, instance: Instance, sandbox: Sandbox, wake, until
) -> None:
    """A feed job holds it."""
    sandbox.fault(route=f"/partition/{instance.domain}/workspaces$", method="GET", delay=2)
    wake()
    until(lambda: sandbox.calls(f"/partition/{instance.domain}/workspaces$", "GET"))
    job_id = operate.prune(work, instance.domain)
    assert operate.wait_for(work, instance.domain, job_id, 0.5) is None
    assert work.documents(instance.domain).get(job_id)["state"] == "queued"
    assert sandbox.calls(f"^/partition/{instance.domain}/?$", "GET") == []
    assert operate.wait_for(work, instance.domain, job_id, 20) is not None


def test_two_operations_that_wait_are_one(work: Work, instance: Instance, sandbox: Sandbox, wake, until) -> None:
    sandbox.fault(route=f"/partition/{instance.domain}/workspaces$", method="GET", delay=2)
    wake()
    until(lambda: sandbox.calls(f"/partition/{instance.domain}/workspaces$", "GET"))
    first = operate.prune(work, instance.domain)
    operate.wait_for(work, instance.domain, first, 0.5)  # its message is taken, and it waits
    assert operate.prune(work, instance.domain) == first
    assert operate.wait_for(work, instance.domain, first, 20) == Counts()


@pytest.mark.parametrize("ask", [operate.prune, operate.purge])
def test_an_operation_that_cannot_be_enqueued_is_not_done_later(
    runtime: Runtime, instance: Instance, ask: Callable[[Work, str], str]
) -> None:
    work = Work(runtime, Recorded(broken=True))
    with pytest.raises(Retryable):
        ask(work, instance.domain)
    assert [owed for owed in work.ledger.all() if owed.domain == instance.domain] == []
    assert work.documents(instance.domain).unfinished("rag-index") == []
