"""Files of the same content: openRAG keeps one of them, and always one of them."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ragcore.documents import ASSISTANTS, FILES, Directory
from ragcore.errors import Retryable
from ragcore.instances import Instance
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.store import Document
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox


@dataclass
class Twins:
    """Two files of one content, the `copy` a known duplicate of the `holder`, each in the folder of an assistant."""

    folder: Directory
    holder: Document
    other_folder: Directory
    copy: Document
    assistant: str  # of the holder's folder


@pytest.fixture
def twins(drive: Drive, indexer: Indexer) -> Twins:
    folder, other = drive.folder("/Papers"), drive.folder("/Copies")
    holder = drive.file("/Papers/Deep/one.txt", "same")
    assistant = drive.assistant(folder)
    drive.assistant(other)
    indexer.read_feed(holder)
    copy = drive.file("/Copies/two.txt", "same")
    indexer.read_feed()
    assert indexer.status(copy)["duplicateOf"] == holder["_id"]
    return Twins(folder, holder, other, copy, assistant)


def test_a_duplicate_is_not_sent_again_while_its_holder_stands(
    twins: Twins, drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox
) -> None:
    changed = drive.runtime.store.save(drive.instance, FILES, {**twins.copy, "tags": ["seen"]})
    indexer.read_feed()
    drive.editor.move(changed, twins.other_folder, "renamed.txt")
    indexer.read_feed()
    indexer.walk_folder(twins.other_folder.id)
    assert len(sandbox.calls(f"/file/{twins.copy['_id']}$", "POST")) == 1
    assert set(openrag.files(twins.other_folder.id)) == set()
    assert openrag.file_workspaces(twins.holder["_id"]) == {twins.folder.id}
    assert "status" not in indexer.status(twins.copy)


def test_a_duplicate_keeps_the_last_status(drive: Drive, indexer: Indexer, until: Callable) -> None:
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    holder, copy = drive.file("/Papers/one.txt", "same"), drive.file("/Papers/two.txt", "other")
    indexer.read_feed(holder, copy)
    until(lambda: indexer.status(copy).get("status") == "success")
    drive.replace(copy, "same")
    indexer.read_feed()
    status = indexer.status(copy)
    assert (status["duplicateOf"], status["status"], status["docRev"]) == (holder["_id"], "success", copy["_rev"])
    assert indexer.content_of(copy["_id"]) is None, "the former content is wrong now"


def test_files_of_one_content_that_are_new_together_are_no_failure(
    drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    """Each is sent once, and all but one are told at once."""
    drive.assistant(drive.folder("/Papers"))
    files = [drive.file(f"/Papers/{number}.txt", "same") for number in range(3)]
    sandbox.set(index_delay=300)
    job_id = indexer.work.feed(drive.instance.domain)
    indexer.run_one()
    assert indexer.job(job_id)["state"] == "done"
    assert [len(sandbox.calls(f"/file/{file['_id']}$", "POST")) for file in files] == [1, 1, 1]
    (holder,) = {indexer.status(file)["duplicateOf"] for file in files if "duplicateOf" in indexer.status(file)}
    assert holder in [file["_id"] for file in files]


def delete(drive: Drive, twins: Twins) -> None:
    drive.runtime.store.delete(drive.instance, FILES, twins.holder)


def trash(drive: Drive, twins: Twins) -> None:
    drive.editor.trash(twins.holder)


def move(drive: Drive, twins: Twins) -> None:
    drive.editor.move(twins.holder, drive.root, "one.txt")


def trash_folder(drive: Drive, twins: Twins) -> None:
    drive.editor.trash(drive.runtime.store.get(drive.instance, FILES, twins.holder["dir_id"]))


def trash_knowledge_base(drive: Drive, twins: Twins) -> None:
    drive.editor.trash(drive.runtime.store.get(drive.instance, FILES, twins.folder.id))


def move_folder(drive: Drive, twins: Twins) -> None:
    folder = drive.runtime.store.get(drive.instance, FILES, twins.holder["dir_id"])
    drive.editor.move(folder, drive.root, "Deep")


def replace(drive: Drive, twins: Twins) -> None:
    drive.replace(twins.holder, "another")


def encrypt(drive: Drive, twins: Twins) -> None:
    drive.runtime.store.save(drive.instance, FILES, {**twins.holder, "encrypted": True})


def remove_assistant(drive: Drive, twins: Twins) -> None:
    store = drive.runtime.store
    store.delete(drive.instance, ASSISTANTS, store.get(drive.instance, ASSISTANTS, twins.assistant))


GOING = [delete, trash, move, trash_folder, trash_knowledge_base, move_folder, replace, encrypt, remove_assistant]


@pytest.mark.parametrize("go", GOING)
def test_a_known_duplicate_takes_the_place_of_its_holder(
    twins: Twins, drive: Drive, indexer: Indexer, openrag: OpenRag, until: Callable, go: Callable
) -> None:
    go(drive, twins)
    indexer.read_feed(twins.copy)
    assert openrag.file_workspaces(twins.copy["_id"]) == {twins.other_folder.id}
    assert "duplicateOf" not in indexer.status(twins.copy)
    assert until(lambda: indexer.status(twins.copy).get("status") == "success")
    changed = go is replace
    assert (indexer.content_of(twins.holder["_id"]) is not None) is changed


def test_what_is_pruned_leaves_its_content_to_a_duplicate(
    twins: Twins, drive: Drive, runtime: Runtime, indexer: Indexer
) -> None:
    """The holder is unclaimed, and no feed has told so yet."""
    remove_assistant(drive, twins)
    indexer.work.operate(drive.instance.domain, "prune")
    indexer.run()
    indexer.wait_for(twins.copy)
    assert indexer.content_of(twins.holder["_id"]) is None


@pytest.mark.parametrize("go", [delete, replace, remove_assistant])
def test_a_duplicate_out_of_scope_is_not_sent(
    twins: Twins, drive: Drive, indexer: Indexer, sandbox: Sandbox, go: Callable
) -> None:
    drive.editor.move(twins.copy, drive.root, "two.txt")
    indexer.read_feed()
    go(drive, twins)
    indexer.read_feed()
    assert len(sandbox.calls(f"/file/{twins.copy['_id']}$", "POST")) == 1
    assert indexer.content_of(twins.copy["_id"]) is None


def test_of_several_duplicates_one_takes_the_place(
    twins: Twins, drive: Drive, indexer: Indexer, until: Callable
) -> None:
    third = drive.file("/Copies/three.txt", "same")
    indexer.read_feed()
    assert indexer.status(third)["duplicateOf"] == twins.holder["_id"]
    delete(drive, twins)
    indexer.read_feed()
    copies = {twins.copy["_id"]: twins.copy, third["_id"]: third}
    (held,) = until(lambda: [file_id for file_id in copies if indexer.content_of(file_id)])
    (other,) = copies.keys() - {held}
    assert indexer.status(copies[other])["duplicateOf"] == held
    assert "duplicateOf" not in indexer.status(copies[held])
    drive.runtime.store.delete(drive.instance, FILES, copies[held])
    indexer.read_feed(copies[other])


def test_a_holder_that_becomes_a_duplicate_leaves_its_content_to_another(
    twins: Twins, drive: Drive, indexer: Indexer
) -> None:
    """Its PUT is refused then, and what is left under its id is the old content."""
    third = drive.file("/Papers/three.txt", "third")
    indexer.read_feed(third)
    drive.replace(twins.holder, "third")
    indexer.read_feed(twins.copy)
    assert indexer.content_of(twins.holder["_id"]) is None
    assert indexer.status(twins.holder)["duplicateOf"] == third["_id"]


def test_two_that_change_their_contents_are_both_there(twins: Twins, drive: Drive, indexer: Indexer) -> None:
    """Each is refused as long as the other has its former content."""
    third = drive.file("/Copies/three.txt", "third")
    indexer.read_feed(third)
    holder = drive.replace(twins.holder, "third")
    third = drive.replace(third, "same")
    for _ in range(5):
        try:
            indexer.read_feed()
        except Retryable:
            continue
    contents = {indexer.content_of(file["_id"]) for file in (holder, third, twins.copy)}
    assert len(contents - {None}) == 2


@pytest.mark.usefixtures("_at_once")
def test_a_duplicate_whose_upload_fails_is_sent_by_the_next_attempt(
    twins: Twins, drive: Drive, indexer: Indexer, sandbox: Sandbox
) -> None:
    """The holder is gone from openRAG by then."""
    delete(drive, twins)
    sandbox.fault(method="POST", route=f"/file/{twins.copy['_id']}$", status=500, times=3)
    with pytest.raises(Retryable):
        indexer.read_feed()
    assert indexer.content_of(twins.holder["_id"]) is None
    indexer.run()
    indexer.wait_for(twins.copy)


def test_a_duplicate_that_changes_is_a_file_of_its_own(twins: Twins, drive: Drive, indexer: Indexer) -> None:
    changed = drive.replace(twins.copy, "of its own")
    indexer.read_feed(changed)
    assert "duplicateOf" not in indexer.status(changed)
    assert indexer.content_of(twins.holder["_id"])


def test_a_walk_sends_a_duplicate_whose_holder_is_gone_from_openrag(
    twins: Twins, indexer: Indexer, openrag: OpenRag, instance: Instance
) -> None:
    openrag.delete_file(twins.holder["_id"])
    indexer.walk_folder(twins.other_folder.id)
    indexer.wait_for(twins.copy)
