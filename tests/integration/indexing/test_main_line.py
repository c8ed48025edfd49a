"""The main line of the index workers: folders become workspaces, files are sent, statuses are saved."""

import io

import pytest

from ragcore.documents import ASSISTANTS, FILES, STATUSES
from ragcore.indexing.status import callback_token
from ragcore.instances import Instance
from ragcore.openrag import OpenRag
from ragcore.openrag.names import workspace_of
from ragcore.runtime import Runtime
from tests.support.files import Drive
from tests.support.sandbox import Sandbox


@pytest.mark.parametrize("former", [False, True])
def test_the_folder_of_a_new_assistant_is_walked(
    drive: Drive, openrag: OpenRag, wake, indexed, sandbox: Sandbox, former: bool
) -> None:
    folder = drive.folder("/Papers")
    files = [drive.file("/Papers/one.txt", "first"), drive.file("/Papers/Deep/Deeper/two é.md", "# second")]
    outside = drive.file("/Other/three.txt", "third")
    drive.assistant(folder, former=former)
    wake()
    statuses = indexed(*files)
    assert all(status["status"] == "success" and status["indexed"] for status in statuses)
    assert openrag.workspaces() == {folder.id}
    assert set(openrag.files(folder.id)) == {file["_id"] for file in files}
    assert openrag.file_metadata(outside["_id"]) is None
    assert sandbox.calls(f"/file/{outside['_id']}", "POST") == []


def test_an_upload_carries_what_the_contract_says(
    drive: Drive, wake, indexed, sandbox: Sandbox, runtime: Runtime, instance: Instance
) -> None:
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    indexed(file)
    (call,) = sandbox.calls(f"/file/{file['_id']}$", "POST")
    assert call["filename"] == "one.txt"
    assert call["fields"]["callback_token"] == callback_token(instance, file["_id"])
    assert call["fields"]["callback_url"] == f"{runtime.config.public_url(instance.domain)}/ai/index/status"
    metadata = call["fields"]["metadata"]
    for piece in (
        '"doc_rev": "1-',
        '"doctype": "io.cozy.files"',
        '"name": "one.txt"',
        "8b04d5e3775d298e78455efc5ca404d5",
    ):
        assert piece in metadata


def test_what_is_there_is_left_alone(drive: Drive, wake, indexed, sandbox: Sandbox, until, runtime, instance) -> None:
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    indexed(file)
    sandbox.reset()
    runtime.store.save(instance, FILES, {**file, "tags": ["seen"]})
    wake()
    until(lambda: sandbox.calls(f"/files/{file['_id']}/workspaces", "GET"))
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert sandbox.calls(f"/file/{file['_id']}$", method) == []


def test_a_changed_file_is_sent_again(drive: Drive, wake, indexed, openrag: OpenRag, until) -> None:
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    indexed(file)
    changed = drive.replace(file, "second")
    added = drive.file("/Papers/two.txt", "another")
    wake()
    indexed(changed, added)
    assert openrag.file_metadata(file["_id"])["doc_rev"] == changed["_rev"]
    assert set(openrag.files(folder.id)) == {file["_id"], added["_id"]}


def test_a_file_in_nested_folders_is_in_both_workspaces(drive: Drive, wake, indexed, openrag: OpenRag, until) -> None:
    outer, inner = drive.folder("/Outer"), drive.folder("/Outer/Inner")
    file = drive.file("/Outer/Inner/one.txt", "first")
    drive.assistant(outer)
    drive.assistant(inner)
    drive.assistant(inner, former=True)
    wake()
    indexed(file)
    until(lambda: openrag.file_workspaces(file["_id"]) == {outer.id, inner.id})


def test_the_whole_drive(drive: Drive, wake, indexed, openrag: OpenRag) -> None:
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(drive.root)
    wake()
    indexed(file)
    assert openrag.workspaces() == {workspace_of(drive.root.id)}
    assert openrag.file_workspaces(file["_id"]) == {"io-cozy-files-root-dir"}


def test_a_folder_no_longer_used_leaves_openrag(
    drive: Drive, wake, indexed, openrag: OpenRag, until, runtime: Runtime, instance: Instance
) -> None:
    outer, inner = drive.folder("/Outer"), drive.folder("/Outer/Inner")
    kept, gone = drive.file("/Outer/Inner/one.txt", "first"), drive.file("/Outer/two.txt", "second")
    assistant = drive.assistant(outer)
    drive.assistant(inner)
    wake()
    indexed(kept, gone)
    until(lambda: openrag.file_workspaces(kept["_id"]) == {outer.id, inner.id})
    runtime.store.delete(instance, ASSISTANTS, runtime.store.get(instance, ASSISTANTS, assistant))
    wake()
    until(lambda: openrag.workspaces() == {inner.id})
    assert openrag.file_workspaces(kept["_id"]) == {inner.id}
    assert openrag.file_metadata(gone["_id"]) is None


def test_a_refused_format_keeps_no_other_file_from_being_indexed(drive: Drive, wake, indexed) -> None:
    folder = drive.folder("/Papers")
    files = [
        drive.file("/Papers/a.exe", "MZ"),
        drive.file("/Papers/b.txt", "fine"),
        drive.file("/Papers/c.png", "P"),
    ]
    drive.assistant(folder)
    wake()
    statuses = {status["_id"]: status["status"] for status in indexed(*files)}
    assert [statuses[file["_id"]] for file in files] == ["notsupported", "success", "notsupported"]


def test_a_duplicate_is_skipped_and_told_with_its_holder(drive: Drive, wake, until, runtime, instance) -> None:
    folder = drive.folder("/Papers")
    files = [drive.file("/Papers/one.txt", "same"), drive.file("/Papers/two.txt", "same")]
    drive.assistant(folder)
    wake()

    def holder() -> tuple[str, str] | None:
        statuses = runtime.store.get_many(instance, STATUSES, [file["_id"] for file in files])
        duplicate = next((s for s in statuses.values() if s.get("duplicateOf")), None)
        return duplicate and (duplicate["_id"], duplicate["duplicateOf"])

    assert set(until(holder)) == {file["_id"] for file in files}


def test_an_outage_is_waited_for(drive: Drive, wake, indexed, sandbox: Sandbox) -> None:
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    sandbox.fault(method="GET", route=f"/partition/{drive.instance.domain}/workspaces", status=503, times=1)
    wake()
    indexed(file)


def test_a_renamed_file_is_told_and_not_sent_again(
    drive: Drive, wake, indexed, sandbox: Sandbox, until, openrag: OpenRag
) -> None:
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    indexed(file)
    drive.editor.move(file, folder, "renamed.txt")
    wake()
    until(lambda: openrag.file_metadata(file["_id"])["name"] == "renamed.txt")
    assert len(sandbox.calls(f"/file/{file['_id']}$", "POST")) == 1
    assert sandbox.calls(f"/file/{file['_id']}$", "PUT") == []


def test_a_file_that_becomes_encrypted_leaves_openrag(
    drive: Drive, wake, indexed, until, openrag: OpenRag, runtime, instance
) -> None:
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    indexed(file)
    changed = runtime.store.save(instance, FILES, {**file, "encrypted": True})
    wake()
    (status,) = indexed(changed)
    assert (status["status"], status["reason"]) == ("notsupported", "encrypted")
    assert openrag.file_metadata(file["_id"]) is None


def test_a_file_that_leaves_the_folder_leaves_openrag(drive: Drive, wake, indexed, until, openrag: OpenRag) -> None:
    folder = drive.folder("/Papers")
    moved, trashed, kept = (drive.file(f"/Papers/{name}.txt", name) for name in ("moved", "trashed", "kept"))
    drive.assistant(folder)
    wake()
    indexed(moved, trashed, kept)
    drive.editor.move(moved, drive.folder("/Elsewhere"), "moved.txt")
    drive.editor.trash(trashed)
    wake()
    until(lambda: set(openrag.files(folder.id)) == {kept["_id"]})
    assert openrag.file_metadata(moved["_id"]) is None


def test_odd_documents_keep_nothing_from_being_indexed(drive: Drive, wake, indexed, runtime, instance) -> None:
    folder = drive.folder("/Papers")
    for number, doc in enumerate(
        [
            {"type": "file"},
            {"type": "file", "dir_id": folder.id, "size": "many", "md5sum": 7},
            {"type": "file", "dir_id": "gone", "name": "x"},
            {"type": "directory"},
            {"type": "note"},
            {},
        ]
    ):
        runtime.store.save(instance, FILES, {"_id": f"odd{number}", **doc})
    runtime.store.save(instance, ASSISTANTS, {"_id": "odd", "relationships": []})
    runtime.store.save(instance, ASSISTANTS, {"_id": "odder", "knowledgeBase": [{"doctype": FILES, "dirId": {}}]})
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    indexed(file)
    second = drive.file("/Papers/two.txt", "second")
    wake()
    indexed(second)


def test_a_note_is_sent_as_markdown(drive: Drive, wake, indexed, sandbox: Sandbox, openrag: OpenRag) -> None:
    folder = drive.folder("/Papers")
    text = {"type": "text", "text": "Buy a boat", "marks": [{"type": "strong"}]}
    content = {"type": "doc", "content": [{"type": "paragraph", "content": [text]}]}
    note = drive.editor.add_file(folder, "Plans.cozy-note", io.BytesIO(b"old"), metadata={"content": content})
    drive.assistant(folder)
    wake()
    indexed(note)
    (call,) = sandbox.calls(f"/file/{note['_id']}$", "POST")
    assert call["filename"] == "Plans.md"
    assert openrag.file_metadata(note["_id"])["name"] == "Plans.cozy-note"


def test_a_folder_that_is_moved_out_takes_its_files_along(
    drive: Drive, wake, indexed, until, openrag: OpenRag, runtime, instance
) -> None:
    """No document of a file changes then, not even for the first time."""
    outer, inner = drive.folder("/Papers"), drive.folder("/Papers/Inner")
    kept, gone = drive.file("/Papers/kept.txt", "kept"), drive.file("/Papers/Inner/gone.txt", "gone")
    drive.assistant(outer)
    wake()
    indexed(kept, gone)
    drive.editor.move(runtime.store.get(instance, FILES, inner.id), drive.root, "Outside")
    wake()
    until(lambda: set(openrag.files(outer.id)) == {kept["_id"]})
    assert openrag.file_metadata(gone["_id"]) is None


def test_a_deleted_document_that_kept_its_body_stays_deleted(
    drive: Drive, wake, indexed, idle, until, openrag: OpenRag, runtime, instance
) -> None:
    folder = drive.folder("/Papers")
    file, other = drive.file("/Papers/one.txt", "first"), drive.file("/Papers/two.txt", "second")
    drive.assistant(folder)
    wake()
    indexed(file, other)
    idle()
    runtime.store.save(instance, FILES, {**file, "_deleted": True})
    last = drive.file("/Papers/three.txt", "third")
    wake()
    indexed(last)
    idle()
    assert set(openrag.files(folder.id)) == {other["_id"], last["_id"]}


@pytest.mark.parametrize("name", ["a\0b.txt", "", "..", "x" * 300, ["list"], 7])
def test_a_file_of_an_odd_name_keeps_no_other_from_being_indexed(
    drive: Drive, wake, indexed, runtime, instance, name
) -> None:
    folder = drive.folder("/Papers")
    odd = {"type": "file", "name": name, "dir_id": folder.id, "md5sum": "1B2M2Y8AsgTpgAmY7PhCfg==", "metadata": [1]}
    saved = runtime.store.save(instance, FILES, odd)
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    statuses = {status["_id"]: status["status"] for status in indexed(file, saved)}
    assert statuses == {file["_id"]: "success", saved["_id"]: "notsupported"}


def test_a_folder_without_a_workspace_keeps_the_others_from_nothing(
    drive: Drive, wake, indexed, until, openrag: OpenRag, runtime, instance
) -> None:
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    odd = {"_id": "a.b", "type": "directory", "name": "Odd", "path": "/Odd", "dir_id": drive.root.id}
    runtime.store.save(instance, FILES, odd)
    runtime.store.save(instance, ASSISTANTS, {"knowledgeBase": [{"doctype": FILES, "dirId": "a.b"}]})
    drive.assistant(folder)
    wake()
    indexed(file)
    assert openrag.workspaces() == {folder.id}
    checkpoint = until(lambda: runtime.store.get_or_new(instance, FILES, "_local/rag-index").get("last_seq"))
    assert checkpoint
