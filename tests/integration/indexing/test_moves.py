"""Files and folders that move: they end where the scope rule puts them, and what openRAG has is not sent again."""

import io
from collections.abc import Callable

import pytest

from ragcore.documents import ASSISTANTS, FILES, Directory
from ragcore.openrag import OpenRag
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox


class Moved:
    """Two knowledge bases, `/Papers` and `/Books`, and a folder of two files, one deep in it."""

    def __init__(self, drive: Drive, indexer: Indexer, sandbox: Sandbox, parent: str) -> None:
        self.drive, self.indexer, self.sandbox = drive, indexer, sandbox
        self.papers, self.books = drive.folder("/Papers"), drive.folder("/Books")
        for folder in (self.papers, self.books):
            drive.assistant(folder)
        self.files = [drive.file(f"{parent}/Things/one.txt", "1"), drive.file(f"{parent}/Things/A/B/two.txt", "2")]
        self.folder = drive.folder(f"{parent}/Things").id
        indexer.read_feed()

    def move(self, to: str, name: str = "Things", doc_id: str = "") -> None:
        folder = self.indexer.fresh(doc_id or self.folder)
        self.drive.editor.move(folder, self.drive.folder(to), name)

    def read_feed(self) -> None:
        """After the calls until now are forgotten."""
        self.indexer.wait_for_callbacks()
        self.sandbox.reset()
        self.indexer.read_feed()

    def workspaces(self) -> set[str]:
        """Those of both files, which are the same."""
        one, two = (frozenset(self.indexer.openrag.file_workspaces(file["_id"])) for file in self.files)
        assert one == two
        return set(one)

    def written(self) -> list[str]:
        """How openRAG's files were written, memberships aside."""
        return [call["method"] for call in self.sandbox.calls("/indexer/") if call["method"] != "GET"]

    def are_known(self) -> bool:
        known = {self.indexer.content_of(file["_id"]) is not None for file in self.files}
        assert len(known) == 1
        return known.pop()


@pytest.fixture
def moved(drive: Drive, indexer: Indexer, sandbox: Sandbox) -> Callable[[str], Moved]:
    """Of the folder that holds `Things` at first."""
    return lambda parent: Moved(drive, indexer, sandbox, parent)


def test_a_folder_that_is_dragged_into_a_knowledge_base(moved: Callable[[str], Moved]) -> None:
    """No document of a file changes, and those of the folders say nothing of them."""
    things = moved("/Outside")
    assert not things.are_known()
    things.move("/Papers/Deep")
    things.read_feed()
    things.indexer.wait_for(*things.files)
    assert things.workspaces() == {things.papers.id}
    assert things.written() == ["POST", "POST"]


def test_a_folder_that_is_dragged_out_of_a_knowledge_base(moved: Callable[[str], Moved]) -> None:
    things = moved("/Papers")
    assert things.are_known()
    things.move("/Outside")
    things.read_feed()
    assert not things.are_known()


@pytest.mark.parametrize(("to", "name"), [("/Papers/Else", "Things"), ("/Papers", "Renamed")])
def test_a_folder_that_is_dragged_within_a_knowledge_base(moved: Callable[[str], Moved], to: str, name: str) -> None:
    things = moved("/Papers")
    things.move(to, name)
    things.read_feed()
    assert things.workspaces() == {things.papers.id}
    assert things.written() == []
    changed = things.drive.replace(things.files[1], "its content is found in its new place")
    things.read_feed()
    things.indexer.wait_for(changed)


def test_a_folder_that_is_dragged_to_another_knowledge_base(moved: Callable[[str], Moved]) -> None:
    things = moved("/Papers")
    things.move("/Books")
    things.read_feed()
    assert things.workspaces() == {things.books.id}
    assert things.written() == []


def test_a_folder_that_is_dragged_out_and_back_between_two_jobs(moved: Callable[[str], Moved]) -> None:
    things = moved("/Papers")
    things.move("/Outside")
    things.move("/Papers")
    things.read_feed()
    assert things.workspaces() == {things.papers.id}
    assert things.written() == []


def test_a_folder_that_is_trashed_and_restored(moved: Callable[[str], Moved]) -> None:
    things = moved("/Papers")
    things.drive.editor.trash(things.indexer.fresh(things.folder))
    things.read_feed()
    assert not things.are_known()
    things.move("/Papers")
    things.read_feed()
    things.indexer.wait_for(*things.files)
    assert things.workspaces() == {things.papers.id}


def test_a_file_that_is_trashed_and_restored_between_two_jobs(moved: Callable[[str], Moved]) -> None:
    things = moved("/Papers")
    file = things.files[0]
    trashed = things.drive.editor.trash(file)
    things.drive.editor.move(trashed, things.drive.folder("/Papers/Things"), "one.txt", trashed=False)
    things.read_feed()
    assert things.workspaces() == {things.papers.id}
    assert things.written() == []


@pytest.mark.parametrize(("to", "name"), [("/", "Articles"), ("/Else/Deep", "Papers")])
def test_a_knowledge_base_that_moves_keeps_its_workspace(moved: Callable[[str], Moved], to: str, name: str) -> None:
    things = moved("/Papers")
    things.move(to, name, things.papers.id)
    things.read_feed()
    assert things.workspaces() == {things.papers.id}
    assert things.written() == []
    added = things.drive.file(f"{to.rstrip('/')}/{name}/new.txt", "new")
    things.indexer.read_feed(added)


def test_a_knowledge_base_that_is_trashed_and_restored(moved: Callable[[str], Moved]) -> None:
    things = moved("/Papers")
    things.drive.editor.trash(things.indexer.fresh(things.papers.id))
    things.read_feed()
    assert things.indexer.openrag.workspaces() == {things.books.id}
    assert not things.are_known()
    things.move("/", "Papers", things.papers.id)
    things.read_feed()
    things.indexer.wait_for(*things.files)
    assert things.workspaces() == {things.papers.id}


def test_a_knowledge_base_that_is_dragged_into_another(moved: Callable[[str], Moved]) -> None:
    things = moved("/Papers")
    things.move("/Books", "Papers", things.papers.id)
    things.read_feed()
    assert things.workspaces() == {things.papers.id, things.books.id}
    assert things.written() == []
    things.move("/", "Papers", things.papers.id)
    things.read_feed()
    assert things.workspaces() == {things.papers.id}
    assert things.written() == []


def test_a_folder_that_becomes_a_knowledge_base_of_its_own(moved: Callable[[str], Moved]) -> None:
    things = moved("/Papers")
    assistant = things.drive.assistant(things.drive.folder("/Papers/Things"))
    things.read_feed()
    assert things.workspaces() == {things.papers.id, things.folder}
    things.drive.runtime.store.delete(
        things.drive.instance, ASSISTANTS, things.drive.runtime.store.get(things.drive.instance, ASSISTANTS, assistant)
    )
    things.read_feed()
    assert things.workspaces() == {things.papers.id}
    assert things.written() == []


def test_an_assistant_that_is_given_another_folder(moved: Callable[[str], Moved]) -> None:
    """The outer one: its files are not sent again for having been in the inner one."""
    things = moved("/Papers")
    store, instance = things.drive.runtime.store, things.drive.instance
    (assistant,) = [doc for doc in store.all(instance, ASSISTANTS) if things.papers.id in str(doc)]
    relationships = {"knowledgeBase": {"data": [{"_id": things.drive.root.id, "_type": FILES}]}}
    store.save(instance, ASSISTANTS, {**assistant, "relationships": relationships})
    things.read_feed()
    assert things.workspaces() == {"io-cozy-files-root-dir"}
    assert things.written() == []


def test_two_assistants_on_one_folder_share_a_workspace(
    drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox
) -> None:
    folder = drive.folder("/Papers")
    assistants = [drive.assistant(folder), drive.assistant(folder, former=True)]
    file = drive.file("/Papers/one.txt", "one")
    indexer.read_feed(file)
    assert openrag.workspaces() == {folder.id}
    assert len(sandbox.calls("/workspaces$", "POST")) == 1
    for assistant, left in zip(assistants, ({folder.id}, set()), strict=True):
        drive.runtime.store.delete(
            drive.instance, ASSISTANTS, drive.runtime.store.get(drive.instance, ASSISTANTS, assistant)
        )
        indexer.read_feed()
        assert openrag.workspaces() == left
    assert indexer.content_of(file["_id"]) is None


def test_a_date_that_changes_is_told_and_nothing_is_sent_again(
    drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox
) -> None:
    drive.assistant(drive.folder("/Papers"))
    file = drive.file("/Papers/one.txt", "one")
    indexer.read_feed(file)
    sandbox.reset()
    date = "2020-01-02T03:04:05.000Z"
    changed = drive.runtime.store.save(drive.instance, FILES, {**file, "metadata": {"datetime": date}})
    indexer.read_feed()
    metadata = openrag.file_metadata(file["_id"]) or {}
    assert (metadata["datetime"], metadata["doc_rev"]) == (date, changed["_rev"])
    assert [call["method"] for call in sandbox.calls(f"/indexer/.*{file['_id']}")] == ["PATCH"]


def test_a_file_that_is_renamed_on_its_way_to_another_knowledge_base(
    drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox
) -> None:
    folders = [drive.folder("/Papers"), drive.folder("/Books")]
    for folder in folders:
        drive.assistant(folder)
    file = drive.file("/Papers/one.txt", "one")
    indexer.read_feed(file)
    drive.editor.move(file, folders[1], "two.txt")
    indexer.read_feed()
    assert (openrag.file_metadata(file["_id"]) or {})["name"] == "two.txt"
    assert openrag.file_workspaces(file["_id"]) == {folders[1].id}
    assert [call["method"] for call in sandbox.calls(f"/indexer/.*{file['_id']}")] == ["POST", "PATCH"]


def test_a_file_that_comes_before_its_folder_is_found_with_it(drive: Drive, indexer: Indexer) -> None:
    """As under replication; the document of the folder is at its first revision."""
    papers = drive.folder("/Papers")
    drive.assistant(papers)
    later = Directory("later", "Later", "/Papers/Later", papers.id)
    stored = drive.runtime.storage.write(drive.instance.domain, "/Papers/Later/one.txt", io.BytesIO(b"one"))
    file = {"type": "file", "name": "one.txt", "dir_id": later.id, "md5sum": stored.md5sum, "size": "3"}
    saved = drive.runtime.store.save(drive.instance, FILES, {"mime": "text/plain", "class": "text", **file})
    indexer.read_feed()
    assert indexer.content_of(saved["_id"]) is None
    folder = {"type": "directory", "name": later.name, "path": later.path, "dir_id": papers.id}
    drive.runtime.store.save(drive.instance, FILES, {"_id": later.id, **folder})
    indexer.read_feed(saved)
