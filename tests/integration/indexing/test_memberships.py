"""The memberships of many files are listed; what is listed wrongly is asked for, and mended."""

import pytest

from ragcore.documents import Directory
from ragcore.indexing import memberships
from ragcore.openrag import OpenRag
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
