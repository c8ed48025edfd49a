"""Files whose indexing still runs: openRAG knows them only when they are sent again."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from ragcore.documents import ASSISTANTS, FILES, Directory
from ragcore.errors import Retryable
from ragcore.openrag import OpenRag, Upload
from ragcore.store import Document
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox

LONG = 300  # seconds that an indexing would take

pytestmark = pytest.mark.usefixtures("_at_once")


@pytest.fixture
def file(folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox) -> Document:
    """Sent for the first time, and still being indexed."""
    sandbox.set(index_delay=LONG)
    file = drive.file("/Papers/one.txt", "one")
    indexer.read_feed()
    assert len(sandbox.calls(f"/file/{file['_id']}$", "POST")) == 1
    assert indexer.content_of(file["_id"]) is None
    return file


def go_on(indexer: Indexer, sandbox: Sandbox, *files: Document) -> None:
    sandbox.set(index_delay=0)
    indexer.wait_for(*files)


@pytest.mark.parametrize("how", ["deleted", "trashed", "moved out", "trashed with its folder"])
def test_a_file_that_goes_during_its_first_indexing_ends_absent(
    file: Document, folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, how: str
) -> None:
    before = indexer.checkpoint().last_seq
    match how:
        case "deleted":
            drive.runtime.store.delete(drive.instance, FILES, file)
        case "trashed":
            drive.editor.trash(file)
        case "moved out":
            drive.editor.move(file, drive.root, "one.txt")
        case _:
            drive.editor.trash(indexer.fresh(folder.id))
    with pytest.raises(Retryable, match="still being indexed"):
        indexer.read_feed()
    assert indexer.checkpoint().last_seq == before
    go_on(indexer, sandbox, file)
    indexer.run()
    assert indexer.content_of(file["_id"]) is None
    assert indexer.jobs == []


def test_the_last_assistant_goes_during_a_first_indexing(
    file: Document, folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, openrag: OpenRag
) -> None:
    """The workspace stays as long as a file may come into it."""
    (assistant,) = drive.runtime.store.all(drive.instance, ASSISTANTS)
    drive.runtime.store.delete(drive.instance, ASSISTANTS, assistant)
    with pytest.raises(Retryable):
        indexer.read_feed()
    assert openrag.workspaces() == {folder.id}
    sandbox.set(index_delay=0)
    indexer.wait_for(file)
    indexer.wait_for_callbacks()
    indexer.run()
    assert openrag.workspaces() == set()
    assert list(openrag.files()) == []


def test_a_content_that_is_being_indexed_is_not_indexed_again(
    file: Document, folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    drive.runtime.store.save(drive.instance, FILES, {**file, "tags": ["seen"]})
    indexer.read_feed()
    indexer.walk_folder(folder.id)
    assert sandbox.calls(f"/file/{file['_id']}$", "PUT") == []
    go_on(indexer, sandbox, file)
    statuses = [call["status"] for call in sandbox.calls(f"/file/{file['_id']}$", "POST")]
    assert statuses == [201, 409, 409]


@pytest.mark.parametrize("legacy", [False, True])
def test_a_content_that_changes_during_its_first_indexing_is_sent_with_put(
    file: Document, drive: Drive, indexer: Indexer, sandbox: Sandbox, openrag: OpenRag, folder: Directory, legacy: bool
) -> None:
    sandbox.set(legacy=legacy)
    changed = drive.replace(file, "another")
    with pytest.raises(Retryable):
        indexer.read_feed()
    assert [call["status"] for call in sandbox.calls(f"/file/{file['_id']}$", "PUT")] == [202]
    go_on(indexer, sandbox, changed)
    indexer.run()
    assert openrag.file_metadata(file["_id"])["doc_rev"] == changed["_rev"]
    assert openrag.file_workspaces(file["_id"]) == {folder.id}
    assert len(sandbox.calls(f"/file/{file['_id']}$", "PUT")) == 1


def test_a_name_that_changes_during_the_first_indexing_is_told(
    file: Document, folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, openrag: OpenRag
) -> None:
    moved = drive.editor.move(file, folder, "renamed.txt")
    with pytest.raises(Retryable):
        indexer.read_feed()
    go_on(indexer, sandbox, moved)
    indexer.run()
    assert openrag.file_metadata(file["_id"])["name"] == "renamed.txt"


def test_a_file_deleted_while_its_replacement_is_indexed_is_deleted_once(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    """openRAG never calls back then: that another look at the file finds nothing is no reason to wait."""
    file = drive.file("/Papers/one.txt", "one")
    indexer.read_feed(file)
    sandbox.set(index_delay=LONG)
    changed = drive.replace(file, "another")
    indexer.read_feed()
    drive.editor.move(changed, drive.root, "one.txt")
    indexer.read_feed()
    assert indexer.content_of(file["_id"]) is None
    drive.runtime.store.delete(drive.instance, FILES, indexer.fresh(file["_id"]))
    indexer.read_feed()
    assert indexer.jobs == []


def test_an_upload_whose_end_is_told_before_its_answer_is_not_waited_for(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    file = drive.file("/Papers/one.txt", "one")
    sandbox.fault(method="POST", route=f"/file/{file['_id']}$", delay=1, after=True)
    indexer.read_feed(file)
    indexer.wait_for_callbacks()


class Killed(BaseException):
    pass


@pytest.fixture
def upload_and_die(indexer: Indexer, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Executes the feed by a worker that is killed at its first upload: after it has arrived, or before."""

    def die(after: bool) -> None:
        def send(method: str) -> Callable[[OpenRag, Upload], None]:
            def and_die(openrag: OpenRag, upload: Upload) -> None:
                if after:
                    openrag._upload(method, upload)
                raise Killed

            return and_die

        with monkeypatch.context() as patched:
            patched.setattr(OpenRag, "create_file", send("POST"))
            patched.setattr(OpenRag, "replace_file", send("PUT"))
            with pytest.raises(Killed):
                indexer.read_feed()

    return die


def test_an_upload_whose_sender_was_killed_is_known(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, upload_and_die: Callable[[bool], None]
) -> None:
    """Else a removal would be lost while it is indexed."""
    sandbox.set(index_delay=LONG)
    file = drive.file("/Papers/one.txt", "one")
    upload_and_die(True)
    drive.runtime.store.delete(drive.instance, FILES, file)
    with pytest.raises(Retryable, match="still being indexed"):
        indexer.read_feed()
    sandbox.set(index_delay=0)
    indexer.until(lambda: indexer.content_of(file["_id"]) is not None)
    indexer.run()
    assert indexer.content_of(file["_id"]) is None


@pytest.mark.parametrize("goes", ["the file", "the assistant"])
def test_an_upload_that_never_arrived_is_not_waited_for(
    folder: Directory,
    drive: Drive,
    indexer: Indexer,
    openrag: OpenRag,
    upload_and_die: Callable[[bool], None],
    goes: str,
) -> None:
    """Its sender was killed: what is to be removed was never there."""
    file = drive.file("/Papers/one.txt", "one")
    upload_and_die(False)
    if goes == "the file":
        drive.editor.trash(file)
    else:
        (assistant,) = drive.runtime.store.all(drive.instance, ASSISTANTS)
        drive.runtime.store.delete(drive.instance, ASSISTANTS, assistant)
    indexer.read_feed()
    assert indexer.jobs == []
    assert openrag.workspaces() == ({folder.id} if goes == "the file" else set())


def test_a_replacement_that_never_arrived_is_sent_again(
    file: Document, drive: Drive, indexer: Indexer, sandbox: Sandbox, upload_and_die: Callable[[bool], None]
) -> None:
    """That the former content is being indexed says nothing of it."""
    changed = drive.replace(file, "another")
    upload_and_die(False)
    with pytest.raises(Retryable):
        indexer.read_feed()
    go_on(indexer, sandbox, changed)
    indexer.run()
    assert [call["status"] for call in sandbox.calls(f"/file/{file['_id']}$", "PUT")] == [202]


@pytest.mark.parametrize("status", [400, 500])
def test_an_upload_that_fails_is_not_waited_for(
    folder: Directory, drive: Drive, indexer: Indexer, sandbox: Sandbox, status: int
) -> None:
    file = drive.file("/Papers/one.txt", "one")
    sandbox.fault(method="POST", route=f"/file/{file['_id']}$", status=status, body={"detail": "no"}, times=3)
    with suppress(Retryable):
        indexer.read_feed()
    indexer.wait_for_callbacks()
    drive.runtime.store.delete(drive.instance, FILES, file)
    indexer.read_feed()


def test_a_purge_ends_what_is_being_indexed(
    file: Document, drive: Drive, indexer: Indexer, sandbox: Sandbox, openrag: OpenRag
) -> None:
    indexer.work.operate(drive.instance.domain, "purge")
    indexer.run()
    assert openrag.workspaces() is None
    drive.runtime.store.delete(drive.instance, FILES, file)
    sandbox.set(index_delay=0)
    indexer.read_feed()
    assert indexer.content_of(file["_id"]) is None
