"""A local folder comes in, and again only what changed, moved or vanished."""

import os
import socket
from pathlib import Path

import pytest

from ragcore.documents import FILES, TRASH_ID
from ragcore.errors import RagcoreError
from ragcore.files.edit import Editor
from ragcore.files.importing import Summary, import_folder, read_local
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document

LONG = "é" * 125 + ".md" + "xx"  # 255 bytes


class Importing:
    def __init__(self, runtime: Runtime, instance: Instance, local: Path) -> None:
        self.runtime, self.instance, self.local = runtime, instance, local
        self.editor = Editor(runtime.store, runtime.storage, instance)
        self.warnings: list[str] = []

    def write(self, path: str, content: str = "content") -> Path:
        place = self.local / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
        return place

    def run(self, to: str = "/Docs") -> Summary:
        self.warnings.clear()
        local = read_local(self.local, self.warnings.append)
        return import_folder(self.editor, local, to, self.warnings.append, lambda: None)

    def documents(self) -> dict[str, Document]:
        """Everything outside of the trash, by path."""
        docs = [doc for doc in self.runtime.store.all(self.instance, FILES) if doc["dir_id"]]
        shown = {self.editor.path_of(doc): doc for doc in docs if doc["_id"] != TRASH_ID}
        return {path: doc for path, doc in shown.items() if not path.startswith("/.cozy_trash/")}

    def trashed(self) -> list[str]:
        return sorted(doc["name"] for page in self.editor.tree.children(TRASH_ID) for doc in page)

    def content(self, path: str) -> bytes:
        with self.runtime.storage.open(self.instance.domain, path) as file:
            return file.read()

    def sequence(self) -> object:
        return self.runtime.store.changes(self.instance, FILES, 0, 10_000).last_seq


@pytest.fixture
def importing(runtime: Runtime, instance: Instance, tmp_path: Path) -> Importing:
    return Importing(runtime, instance, tmp_path / "local")


def test_a_folder_becomes_directories_and_files(importing: Importing) -> None:
    importing.write("a b.txt", "first")
    importing.write("Été/Deeper/😀.md", "# second")
    importing.write("Été/empty.pdf", "")
    importing.write(LONG)
    (importing.local / "Nothing in it").mkdir()
    assert importing.run() == Summary(added=4, folders=3)
    docs = importing.documents()
    assert set(docs) == {
        "/Docs",
        "/Docs/Nothing in it",
        "/Docs/Été",
        "/Docs/Été/Deeper",
        "/Docs/a b.txt",
        "/Docs/Été/Deeper/😀.md",
        "/Docs/Été/empty.pdf",
        f"/Docs/{LONG}",
    }
    file = docs["/Docs/a b.txt"]
    assert (file["type"], file["size"], file["mime"], file["class"]) == ("file", "5", "text/plain", "text")
    assert docs["/Docs/Été/empty.pdf"]["md5sum"] == "1B2M2Y8AsgTpgAmY7PhCfg=="
    assert docs["/Docs/Été/empty.pdf"]["class"] == "pdf"
    assert docs["/Docs/Été/Deeper"]["path"] == "/Docs/Été/Deeper"
    assert importing.content("/Docs/Été/Deeper/😀.md") == b"# second"


def test_again_it_writes_nothing(importing: Importing) -> None:
    importing.write("a.txt")
    importing.write("Sub/b.txt")
    importing.run()
    before = importing.sequence()
    assert importing.run() == Summary(unchanged=2)
    assert importing.sequence() == before


def test_changed_content_keeps_the_document(importing: Importing) -> None:
    place = importing.write("a.txt", "one")
    importing.run()
    before = importing.documents()["/Docs/a.txt"]
    place.write_text("two")
    os.utime(place, (1, 1))
    assert importing.run() == Summary(changed=1)
    after = importing.documents()["/Docs/a.txt"]
    assert after["_id"] == before["_id"]
    assert after["md5sum"] != before["md5sum"]
    assert importing.content("/Docs/a.txt") == b"two"


def test_a_touched_file_is_unchanged(importing: Importing) -> None:
    place = importing.write("a.txt")
    importing.run()
    os.utime(place, (1, 1))
    assert importing.run() == Summary(unchanged=1)


def test_a_moved_file_keeps_its_document(importing: Importing) -> None:
    importing.write("a.txt", "the content")
    importing.write("b.txt", "other")
    importing.run()
    before = importing.documents()["/Docs/a.txt"]
    (importing.local / "Sub").mkdir()
    (importing.local / "a.txt").rename(importing.local / "Sub" / "c.txt")
    assert importing.run() == Summary(moved=1, unchanged=1, folders=1)
    docs = importing.documents()
    assert docs["/Docs/Sub/c.txt"]["_id"] == before["_id"]
    assert "/Docs/a.txt" not in docs
    assert importing.content("/Docs/Sub/c.txt") == b"the content"


def test_what_vanished_goes_to_the_trash(importing: Importing) -> None:
    importing.write("keep.txt", "k")
    gone = importing.write("gone.txt", "g")
    deep = importing.write("Old/Deep/a.txt", "a")
    importing.run()
    gone.unlink()
    deep.unlink()
    deep.parent.rmdir()
    deep.parent.parent.rmdir()
    assert importing.run() == Summary(trashed=2, unchanged=1)
    assert set(importing.documents()) == {"/Docs", "/Docs/keep.txt"}
    assert importing.trashed() == ["Old", "gone.txt"]
    assert importing.content("/.cozy_trash/Old/Deep/a.txt") == b"a"


def test_a_name_that_is_taken_in_the_trash(importing: Importing) -> None:
    for content in ("1", "2", "3"):
        importing.write("a.txt", content)
        importing.run()
        (importing.local / "a.txt").unlink()
        importing.run()
    assert importing.trashed() == ["a (2).txt", "a (3).txt", "a.txt"]


def test_a_file_becomes_a_directory_and_the_reverse(importing: Importing) -> None:
    one = importing.write("one", "1")
    two = importing.write("two/file.txt", "2")
    importing.run()
    one.unlink()
    importing.write("one/inside.txt", "3")
    two.unlink()
    two.parent.rmdir()
    importing.write("two", "4")
    importing.run()
    assert set(importing.documents()) == {"/Docs", "/Docs/one", "/Docs/one/inside.txt", "/Docs/two"}
    assert importing.content("/Docs/two") == b"4"


def test_links_and_special_files_are_left_out(importing: Importing, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("secret")
    importing.write("a.txt")
    (importing.local / "link.txt").symlink_to(secret / "key.txt")
    (importing.local / "folder").symlink_to(secret)
    (importing.local / "loop").symlink_to(importing.local)
    os.mkfifo(importing.local / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(importing.local / "socket"))
        assert importing.run().added == 1
    assert set(importing.documents()) == {"/Docs", "/Docs/a.txt"}
    assert len(importing.warnings) == 5


def test_a_name_that_is_no_text_is_left_out(importing: Importing) -> None:
    importing.write("a.txt")
    Path(os.fsdecode(os.fsencode(importing.local) + b"/\xff\xfe.txt")).write_text("x")
    assert importing.run().added == 1
    (warning,) = importing.warnings
    warning.encode()


def test_names_that_differ_in_case_only_are_two(importing: Importing) -> None:
    importing.write("a.txt", "1")
    importing.write("A.txt", "2")
    assert importing.run().added == 2


def test_a_folder_that_cannot_be_read_is_not_taken_for_empty(importing: Importing, monkeypatch) -> None:
    importing.write("Sub/a.txt")
    importing.run()

    def refuse(place):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ragcore.files.importing.os.scandir", refuse)
    with pytest.raises(RagcoreError):
        importing.run()
    assert "/Docs/Sub/a.txt" in importing.documents()


def test_the_root_is_mirrored_but_for_the_trash(importing: Importing) -> None:
    importing.write("a.txt")
    importing.run("/")
    assert set(importing.documents()) == {"/a.txt"}
    assert importing.run("/") == Summary(unchanged=1)


def test_moving_a_directory_rewrites_paths_and_no_file(importing: Importing) -> None:
    importing.write("One/Two/Three/a.txt")
    importing.write("One-more/b.txt")
    importing.run("/")
    before = importing.documents()
    target = importing.editor.mkdir("/Target")
    importing.editor.move(before["/One"], target, "Moved")
    after = importing.documents()
    assert after["/Target/Moved/Two/Three/a.txt"]["_rev"] == before["/One/Two/Three/a.txt"]["_rev"]
    assert after["/Target/Moved/Two/Three"]["path"] == "/Target/Moved/Two/Three"
    assert "/One-more/b.txt" in after
    assert importing.content("/Target/Moved/Two/Three/a.txt") == b"content"
    with pytest.raises(RagcoreError):
        importing.editor.move(after["/Target"], importing.editor.tree.at("/Target/Moved"), "Inside itself")
