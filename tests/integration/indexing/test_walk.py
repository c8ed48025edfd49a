"""The walk of one folder: its events, its summary, its place, its failures, and what it leaves alone."""

import logging

import pytest

from ragcore.documents import FILES, Directory
from ragcore.errors import Retryable
from ragcore.indexing import walk
from ragcore.jobs import FeedJob, WalkJob
from ragcore.openrag import OpenRag
from ragcore.store import Document
from ragcore.turns import Taken
from tests.support.api import Client
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("_at_once")


@pytest.fixture
def folder(drive: Drive, indexer: Indexer) -> Directory:
    """Of an assistant; its workspace is made, and it is empty."""
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    indexer.read_feed()
    return folder


@pytest.fixture
def files(folder: Directory, drive: Drive, indexer: Indexer) -> list[Document]:
    """Two in each of four directories, in the order of a walk; no feed tells of them."""
    paths = ("/Papers", "/Papers/A", "/Papers/A/Deep", "/Papers/B")
    made = [[drive.file(f"{path}/{name}.txt", f"{path} {name}") for name in "ab"] for path in paths]
    indexer.skip_feed()
    return [file for siblings in made for file in sorted(siblings, key=lambda file: str(file["_id"]))]


def ids(files: list[Document]) -> list[str]:
    return sorted(file["_id"] for file in files)


def sent(sandbox: Sandbox, method: str = "POST") -> list[str]:
    """The ids of the files that were sent, a file for each time."""
    return sorted(call["path"].rpartition("/")[2] for call in sandbox.calls("/indexer/.*/file/", method))


def looked_at(sandbox: Sandbox) -> list[str]:
    return sorted(call["path"].rpartition("/")[2] for call in sandbox.calls("/partition/.*/file/", "GET"))


def fail(sandbox: Sandbox, *files: Document, times: int = 3) -> None:
    """The uploads of these files, in all attempts of one execution."""
    for file in files:
        sandbox.fault(method="POST", route=f"/file/{file['_id']}$", status=500, times=times)


def walk_and_listen(folder: Directory, indexer: Indexer, client: Client) -> tuple[str, list[Document]]:
    """The id of the job, and what it told of how far it is until it was done."""
    token = Client(client.base_url, client.instance, "io.cozy.jobs").token
    with client.socket({"type": "io.cozy.jobs"}, token=token) as socket:
        socket.sync()
        job_id = indexer.walk_folder(folder.id)
        told: list[Document] = []
        for message in socket:
            event = message["payload"]
            if event["id"] == job_id and "total" in event["doc"]:
                told.append(event["doc"])
            if event["doc"].get("state") == "done":
                break
    return job_id, told


def test_a_walk_tells_how_far_it_is(
    folder: Directory, files: list[Document], indexer: Indexer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "TELL_EVERY", 0)
    _, told = walk_and_listen(folder, indexer, client)
    dones = [doc["done"] for doc in told]
    assert dones == sorted(dones)
    assert {1, 2, 3, 4, 5, 6, 7, 8} <= set(dones)
    assert all(sum(doc["counts"].values()) <= doc["done"] <= doc["total"] for doc in told)
    assert (told[-1]["done"], told[-1]["total"]) == (8, 8)


def test_a_walk_always_tells_its_end(
    folder: Directory, files: list[Document], drive: Drive, indexer: Indexer, client: Client
) -> None:
    drive.file("/Papers/odd.exe", "MZ")
    job_id, told = walk_and_listen(folder, indexer, client)
    counts = {"indexed": 8, "refused": 1}
    assert told[-1] == {"_id": job_id, "dir_id": folder.id, "done": 9, "total": 9, "counts": counts}
    assert indexer.job(job_id)["result"] == {"counts": counts}


def test_an_empty_folder_is_told_of_too(folder: Directory, indexer: Indexer, client: Client) -> None:
    job_id, told = walk_and_listen(folder, indexer, client)
    assert told == [{"_id": job_id, "dir_id": folder.id, "done": 0, "total": 0, "counts": {}}]


def test_a_walk_ends_with_its_summary(
    folder: Directory,
    files: list[Document],
    drive: Drive,
    indexer: Indexer,
    sandbox: Sandbox,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def summary() -> str:
        lines = [record.getMessage() for record in caplog.records if record.name == walk.__name__]
        return next(line for line in reversed(lines) if "walk of /Papers" in line).rpartition("/Papers: ")[2]

    caplog.set_level(logging.INFO)
    indexer.walk_folder(folder.id)
    indexer.wait_for(*files)
    assert summary() == "8 indexed or up to date, 0 duplicates, 0 refused, 0 failed"
    for name, content in [("copy.txt", "/Papers/A a"), ("new.txt", "new"), ("odd.exe", "MZ"), ("picture.png", "P")]:
        drive.file(f"/Papers/{name}", content)
    fail(sandbox, drive.file("/Papers/bad.txt", "bad"))
    indexer.skip_feed()
    with pytest.raises(Retryable):
        indexer.walk_folder(folder.id)
    assert summary() == "9 indexed or up to date, 1 duplicates, 2 refused, 1 failed"
    for _ in range(2):  # what was refused once is counted again
        indexer.walk_folder(folder.id)
        assert summary() == "10 indexed or up to date, 1 duplicates, 2 refused, 0 failed"


def give_way_after(count: int, indexer: Indexer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a walk has taken `count` files, a feed job comes, and has to wait."""
    monkeypatch.setattr(walk, "LOOK_EVERY", 0)
    asked, may_go_on = 0, walk.Walk._may_go_on

    def counting(current: walk.Walk) -> bool:
        nonlocal asked
        asked += 1
        if asked == count + 1:
            indexer.work.feed(indexer.instance.domain)
            with pytest.raises(Taken):
                indexer.run_one()
        return may_go_on(current)

    monkeypatch.setattr(walk.Walk, "_may_go_on", counting)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 7])
def test_a_walk_gives_way_and_goes_on_from_its_place(
    folder: Directory,
    files: list[Document],
    indexer: Indexer,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    count: int,
) -> None:
    give_way_after(count, indexer, monkeypatch)
    job_id = indexer.work.walk(indexer.instance.domain, folder.id)
    indexer.run_one()
    assert sent(sandbox) == ids(files[:count])
    assert [type(job) for job in indexer.jobs] == [FeedJob, WalkJob]
    assert indexer.job(job_id)["state"] == "running"
    sandbox.reset()
    indexer.run()
    assert sent(sandbox) == ids(files[count:])
    assert set(looked_at(sandbox)) <= set(ids(files[count:]))  # a few, before the workspace is listed
    assert indexer.job(job_id)["state"] == "done"
    assert indexer.job(job_id)["result"] == {"counts": {"indexed": len(files)}}


def test_a_place_with_a_field_of_a_newer_version_is_gone_on_from(
    folder: Directory, files: list[Document], indexer: Indexer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_way_after(2, indexer, monkeypatch)
    indexer.work.walk(indexer.instance.domain, folder.id)
    indexer.run_one()
    ledger = indexer.work.ledger
    owed = ledger.get(WalkJob(indexer.instance.domain, folder.id))
    assert owed is not None
    ledger.save(owed, place=owed.place | {"mood": 1})
    sandbox.reset()
    indexer.run()
    assert sent(sandbox) == ids(files[2:])


def test_a_walk_that_gave_way_after_a_failure_goes_on_and_fails_at_its_end(
    folder: Directory, files: list[Document], indexer: Indexer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = files[1]
    fail(sandbox, bad)
    give_way_after(4, indexer, monkeypatch)
    indexer.work.walk(indexer.instance.domain, folder.id)
    indexer.run_one()
    sandbox.reset()
    with pytest.raises(Retryable, match=f"1 failed, {bad['_id']} first"):
        indexer.run()
    assert sent(sandbox) == ids(files[4:])
    sandbox.reset()
    indexer.run()
    assert sent(sandbox) == [bad["_id"]]
    assert indexer.jobs == []


def test_a_failure_that_passes_fails_the_walk_at_its_end(
    folder: Directory, files: list[Document], indexer: Indexer, sandbox: Sandbox
) -> None:
    """The next execution sends what is missing, and nothing else."""
    bad = [files[0], files[5]]
    fail(sandbox, *bad)
    with pytest.raises(Retryable, match="2 failed"):
        indexer.walk_folder(folder.id)
    indexer.wait_for(*(file for file in files if file not in bad))
    owed = indexer.work.ledger.get(WalkJob(indexer.instance.domain, folder.id))
    assert owed is not None
    assert not owed.place.get("path"), "it begins anew"
    sandbox.reset()
    indexer.run()
    indexer.wait_for(*files)
    assert sent(sandbox) == ids(bad)
    assert sent(sandbox, "PUT") == []


def test_a_walk_in_an_outage_is_owed(
    folder: Directory, files: list[Document], indexer: Indexer, sandbox: Sandbox
) -> None:
    sandbox.fault(route=f"/file/{files[3]['_id']}$", delay=0.001, times=1)
    sandbox.fault(route=indexer.instance.domain, status=503, times=None)
    with pytest.raises(Retryable):
        indexer.walk_folder(folder.id)
    sandbox.reset()
    indexer.run()
    indexer.wait_for(*files)


def test_a_walk_that_is_asked_for_while_it_runs_is_walked_again(
    folder: Directory, files: list[Document], indexer: Indexer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = walk.Walk._may_go_on

    def ask(current: walk.Walk) -> bool:
        indexer.work.walk(indexer.instance.domain, folder.id)
        return may_go_on(current)

    with monkeypatch.context() as patched:
        patched.setattr(walk.Walk, "_may_go_on", ask)
        indexer.work.walk(indexer.instance.domain, folder.id)
        indexer.run_one()
    assert [type(job) for job in indexer.jobs] == [WalkJob]
    indexer.wait_for(*files)
    sandbox.reset()
    indexer.run()
    assert looked_at(sandbox) == ids(files)
    assert indexer.work.ledger.get(WalkJob(indexer.instance.domain, folder.id)) is None


@pytest.mark.parametrize("gone", ["workspace, its files kept", "workspace with its files", "partition"])
def test_a_walk_makes_its_own_workspace_again(
    folder: Directory, files: list[Document], indexer: Indexer, openrag: OpenRag, gone: str
) -> None:
    indexer.walk_folder(folder.id)
    indexer.wait_for(*files)
    if gone == "partition":
        openrag.delete_partition()
    else:
        openrag.delete_workspace(folder.id, keep_files="kept" in gone)
    indexer.walk_folder(folder.id)
    indexer.wait_for(*files)
    assert set(openrag.files(folder.id)) == set(ids(files))


def test_a_walk_whose_workspace_goes_while_it_gives_way_begins_anew(
    folder: Directory,
    files: list[Document],
    indexer: Indexer,
    openrag: OpenRag,
    monkeypatch: pytest.MonkeyPatch,
    sandbox: Sandbox,
) -> None:
    give_way_after(4, indexer, monkeypatch)
    indexer.work.walk(indexer.instance.domain, folder.id)
    indexer.run_one()
    indexer.wait_for(*files[:4])
    openrag.delete_workspace(folder.id)
    (feed, walk_job) = indexer.jobs
    indexer.jobs[:] = [walk_job, feed]
    indexer.run()
    indexer.wait_for(*files)
    assert set(openrag.files(folder.id)) == set(ids(files))


def test_a_walk_makes_and_removes_no_other_workspace(
    folder: Directory, files: list[Document], drive: Drive, indexer: Indexer, openrag: OpenRag
) -> None:
    openrag.create_workspace("stray", "of nobody")
    drive.assistant(drive.folder("/Other"))
    indexer.walk_folder(folder.id)
    assert openrag.workspaces() == {folder.id, "stray"}
    assert indexer.jobs == []


def test_a_walk_waits_for_the_workspace_of_a_nested_folder(
    folder: Directory, files: list[Document], drive: Drive, indexer: Indexer, openrag: OpenRag
) -> None:
    """The workspace is made by a feed job; the files outside of the nested folder do not wait."""
    inner = drive.folder("/Papers/A")
    drive.assistant(inner)
    with pytest.raises(Retryable, match="4 failed"):
        indexer.walk_folder(folder.id)
    indexer.wait_for(*files[:2], *files[6:])
    assert openrag.workspaces() == {folder.id}
    indexer.jobs.clear()
    indexer.read_feed(*files)
    assert set(openrag.files(inner.id)) == set(ids(files[2:6]))
    assert set(openrag.files(folder.id)) == set(ids(files))


def test_a_folder_that_nobody_uses_is_not_walked(
    folder: Directory, files: list[Document], drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox
) -> None:
    job_id = indexer.walk_folder(drive.folder("/Papers/A").id)
    assert indexer.job(job_id)["state"] == "done"
    assert sent(sandbox) == looked_at(sandbox) == []
    assert openrag.workspaces() == {folder.id}


def test_a_walk_tries_again_what_was_refused(
    folder: Directory, files: list[Document], indexer: Indexer, sandbox: Sandbox
) -> None:
    """That is how an operator brings in what openRAG takes by now."""
    sandbox.fault(method="POST", route=f"/file/{files[2]['_id']}$", status=415, body={"detail": "no"})
    job_id = indexer.walk_folder(folder.id)
    assert indexer.job(job_id)["state"] == "done"
    assert indexer.status(files[2])["status"] == "notsupported"
    indexer.walk_folder(folder.id)
    indexer.wait_for(*files)


def test_a_walk_goes_on_behind_a_file_whose_content_is_missing(
    folder: Directory, files: list[Document], drive: Drive, indexer: Indexer
) -> None:
    lost = files[2]
    drive.runtime.storage.delete(drive.instance.domain, drive.editor.path_of(lost))
    job_id = indexer.walk_folder(folder.id)
    assert indexer.job(job_id)["state"] == "done"
    indexer.wait_for(*files[:2], *files[3:])
    assert (indexer.status(lost)["status"], indexer.status(lost)["reason"]) == ("notsupported", "missing")


def test_a_walk_takes_out_what_left_the_scope_unnoticed(
    folder: Directory, files: list[Document], drive: Drive, indexer: Indexer, openrag: OpenRag
) -> None:
    """As after a feed whose changes were given up on: an encrypted file, and one with its former content."""
    indexer.walk_folder(folder.id)
    indexer.wait_for(*files)
    drive.runtime.store.save(drive.instance, FILES, {**files[0], "encrypted": True})
    changed = drive.replace(files[1], "changed")
    indexer.skip_feed()
    indexer.walk_folder(folder.id)
    indexer.wait_for(changed)
    assert set(openrag.files(folder.id)) == set(ids(files[1:]))


def test_the_whole_drive_is_walked_without_its_trash(
    files: list[Document], drive: Drive, indexer: Indexer, openrag: OpenRag
) -> None:
    drive.assistant(drive.root)
    top, gone = drive.file("/top.txt", "top"), drive.file("/gone.txt", "gone")
    drive.editor.trash(gone)
    indexer.read_feed()
    indexer.wait_for(top, *files)
    assert set(openrag.files("io-cozy-files-root-dir")) == {top["_id"], *ids(files)}
    assert openrag.file_metadata(gone["_id"]) is None
