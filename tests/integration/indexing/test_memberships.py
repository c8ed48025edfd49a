"""The memberships of many files are listed; what is listed wrongly is asked for, and mended."""

import pytest

from ragcore.documents import STATUSES, Directory
from ragcore.indexing import memberships
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.store import Document
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox

MANY = 12  # more than listing the one workspace takes calls, whatever runs side by side


@pytest.fixture
def papers(drive: Drive) -> Directory:
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    return folder


@pytest.fixture
def files(drive: Drive, papers: Directory, indexer: Indexer, sandbox: Sandbox) -> list[Document]:
    made = [drive.file(f"/Papers/{number}.txt", f"number {number}") for number in range(MANY)]
    indexer.read_feed(*made)
    sandbox.clear_calls()
    return made


def asked(sandbox: Sandbox) -> int:
    return len(sandbox.calls("/files/[^/]+/workspaces", "GET"))


def test_a_walk_lists_the_memberships_of_many_files(
    files: list[Document], papers: Directory, indexer: Indexer, sandbox: Sandbox
) -> None:
    indexer.walk_folder(papers.id)
    assert len(sandbox.calls(f"/workspaces/{papers.id}/files$", "GET")) == 1
    assert asked(sandbox) < MANY
    assert len(sandbox.calls("/file/", "GET")) == len(files)


def test_a_file_that_is_listed_wrongly_ends_in_its_workspaces(
    files: list[Document], papers: Directory, indexer: Indexer, openrag: OpenRag
) -> None:
    openrag.create_workspace("another", "Another")
    openrag.add_to_workspace("another", files[-1]["_id"])
    openrag.add_to_workspace("another", files[-2]["_id"])
    openrag.remove_from_workspace(papers.id, files[-2]["_id"])
    indexer.walk_folder(papers.id)
    assert set(openrag.files(papers.id)) == {file["_id"] for file in files}
    assert set(openrag.files("another")) == set()


def test_where_there_are_too_many_each_file_is_asked_for(
    files: list[Document], papers: Directory, indexer: Indexer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memberships, "MOST", MANY - 1)
    indexer.walk_folder(papers.id)
    assert asked(sandbox) == MANY


def test_new_files_are_sent_without_asking_for_each(drive: Drive, indexer: Indexer, sandbox: Sandbox) -> None:
    made = [drive.file(f"/Papers/{number}.txt", f"new number {number}") for number in range(MANY * 3)]
    indexer.skip_feed()
    drive.assistant(drive.folder("/Papers"))
    sandbox.clear_calls()
    indexer.work.feed(indexer.instance.domain)
    indexer.run()
    assert len(sandbox.calls("/file/", "POST")) == len(made)
    assert len(sandbox.calls("/file/", "GET")) < len(made)
    indexer.wait_for(*made)


def test_a_file_that_is_in_no_workspace_and_known_is_not_indexed_again(
    files: list[Document], papers: Directory, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox, runtime: Runtime
) -> None:
    indexer.wait_for_callbacks()
    lost = files[-1]["_id"]
    openrag.remove_from_workspace(papers.id, lost)
    runtime.store.delete(indexer.instance, STATUSES, indexer.status(files[-1]))  # its callback was lost
    indexer.walk_folder(papers.id)
    assert lost in set(openrag.files(papers.id))
    assert [call["status"] for call in sandbox.calls("/file/", "POST")] in ([], [409])
    assert not sandbox.calls("/file/", "PUT")


def test_a_feed_job_reads_no_listing_that_is_far_longer_than_its_batch(
    files: list[Document], papers: Directory, indexer: Indexer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memberships, "FOR_EACH", 0)
    indexer.work.feed(indexer.instance.domain, reset=True)
    indexer.run()
    assert asked(sandbox) == MANY
