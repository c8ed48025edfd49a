"""A local folder comes in, and again only what changed, moved or vanished."""

import io
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from ragcore.documents import FILES, TRASH_ID
from ragcore.errors import Conflict, Invalid, RagcoreError, Retryable
from ragcore.files.applying import Summary
from ragcore.files.edit import Editor
from ragcore.files.importing import Import
from ragcore.files.storage import PIECE
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.wire import Answer

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
        return self.start(to).apply(lambda units: None)

    def start(self, to: str = "/Docs") -> Import:
        """An import that is planned, and not applied."""
        run = Import(self.editor, str(self.local), to, self.warnings.append)
        run.plan()
        return run

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
    assert importing.run() == Summary(trashed=2, unchanged=1, folders=1)
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


def test_nothing_can_be_imported_into_the_trash(importing: Importing) -> None:
    for path in ("/.cozy_trash", "/.cozy_trash/Docs"):
        with pytest.raises(Invalid):
            importing.start(path)
    importing.write("a.txt")
    importing.write(".cozy_trash/b.txt")
    assert importing.run("/").added == 1
    assert importing.trashed() == []
    assert len(importing.warnings) == 1


def test_a_target_that_is_a_file(importing: Importing) -> None:
    importing.write("a.txt")
    importing.run("/")
    with pytest.raises(Conflict):
        importing.run("/a.txt")


def test_a_touched_file_is_read_once(importing: Importing) -> None:
    place = importing.write("a.txt")
    importing.run()
    os.utime(place, (1, 1))
    importing.run()
    assert importing.documents()["/Docs/a.txt"]["updated_at"] == "1970-01-01T00:00:01.000Z"
    before = importing.sequence()
    assert importing.run() == Summary(unchanged=1)
    assert importing.sequence() == before


def test_a_renamed_directory_touches_no_file(importing: Importing) -> None:
    importing.write("Old/a.txt")
    importing.write("Old/Deep/b.txt")
    importing.run()
    before = importing.documents()
    (importing.local / "New").mkdir()
    (importing.local / "Old").rename(importing.local / "New" / "Name")
    assert importing.run() == Summary(moved=2, folders=2)
    after = importing.documents()
    for path in ("/a.txt", "/Deep/b.txt"):
        assert after[f"/Docs/New/Name{path}"] == before[f"/Docs/Old{path}"]
    assert after["/Docs/New/Name/Deep"]["_id"] == before["/Docs/Old/Deep"]["_id"]
    assert importing.content("/Docs/New/Name/Deep/b.txt") == b"content"
    assert importing.trashed() == []


def test_a_file_moves_into_the_directory_that_takes_its_name(importing: Importing) -> None:
    importing.write("notes", "some notes")
    importing.run()
    before = importing.documents()["/Docs/notes"]
    (importing.local / "notes").rename(importing.local / "aside")
    (importing.local / "notes").mkdir()
    (importing.local / "aside").rename(importing.local / "notes" / "notes")
    assert importing.run() == Summary(moved=1, folders=1)
    assert importing.documents()["/Docs/notes/notes"]["_id"] == before["_id"]
    (importing.local / "notes" / "notes").rename(importing.local / "aside")
    (importing.local / "notes").rmdir()
    (importing.local / "aside").rename(importing.local / "notes")
    assert importing.run() == Summary(moved=1, folders=1)
    assert importing.documents()["/Docs/notes"]["_id"] == before["_id"]
    assert importing.content("/Docs/notes") == b"some notes"
    assert importing.trashed() == ["notes"]


def test_what_is_trashed_can_be_brought_back(importing: Importing) -> None:
    gone = [importing.write("A/same.txt", "1"), importing.write("B/same.txt", "2")]
    importing.write("A/keep.txt", "3")
    importing.write("B/keep.txt", "4")
    importing.run()
    for place in gone:
        place.unlink()
    assert importing.run() == Summary(trashed=2, unchanged=2)
    found = {doc["restore_path"]: doc for page in importing.editor.tree.children(TRASH_ID) for doc in page}
    assert {path: (doc["name"], doc["trashed"]) for path, doc in found.items()} == {
        "/Docs/A": ("same.txt", True),
        "/Docs/B": ("same (2).txt", True),
    }
    assert importing.content("/.cozy_trash/same (2).txt") == b"2"


def test_other_folders_are_left_alone(importing: Importing) -> None:
    other = importing.editor.mkdir("/Docs-of-others")
    importing.editor.add_file(other, "a.txt", io.BytesIO(b"the content"))
    importing.write("a.txt", "the content")
    assert importing.run() == Summary(added=1)
    (importing.local / "a.txt").unlink()
    assert importing.run() == Summary(trashed=1)
    assert importing.content("/Docs-of-others/a.txt") == b"the content"


def test_files_that_change_after_the_comparison(importing: Importing) -> None:
    gone, link, changed = (importing.write(name) for name in ("gone.txt", "link.txt", "changed.txt"))
    importing.write("fine.txt")
    run = importing.start()
    gone.unlink()
    link.unlink()
    link.symlink_to("/etc/passwd")
    changed.write_text("another content")
    assert run.apply(lambda units: None) == Summary(added=2, failed=2)
    assert len(importing.warnings) == 2
    assert importing.content("/Docs/changed.txt") == b"another content"
    assert importing.run() == Summary(unchanged=2)


def test_a_file_that_changes_while_it_is_read_keeps_its_former_content(importing: Importing) -> None:
    place = importing.write("a.bin", "former")
    importing.write("b.txt")
    importing.run()
    with place.open("wb") as file:
        file.truncate(3 * PIECE)
    run = importing.start()

    def progress(units: int) -> None:
        with place.open("ab") as file:
            file.write(b"more")

    assert run.apply(progress) == Summary(failed=1, unchanged=1)
    assert importing.content("/Docs/a.bin") == b"former"
    assert importing.documents()["/Docs/a.bin"]["size"] == "6"
    assert importing.run() == Summary(changed=1, unchanged=1)


def test_somebody_else_changes_the_folder_meanwhile(importing: Importing) -> None:
    for name in ("a.txt", "b.txt"):
        importing.write(name, f"content of {name}")
    importing.run()
    docs = importing.documents()
    (importing.local / "a.txt").write_text("another content")
    (importing.local / "b.txt").unlink()
    run = importing.start()
    target = importing.editor.mkdir("/Elsewhere")
    for path in ("/Docs/a.txt", "/Docs/b.txt"):
        importing.editor.move(docs[path], target, path.removeprefix("/Docs/"))
    assert run.apply(lambda units: None) == Summary(failed=2)
    assert importing.content("/Elsewhere/a.txt") == b"content of a.txt"
    assert importing.content("/Elsewhere/b.txt") == b"content of b.txt"
    assert importing.run() == Summary(added=1)


def test_the_progress_adds_up(importing: Importing) -> None:
    importing.write("a.txt", "x" * 1000)
    importing.write("Sub/b.txt", "y" * 500)
    run = Import(importing.editor, str(importing.local), "/Docs", importing.warnings.append)
    work = run.plan()
    told: list[int] = []
    run.apply(told.append)
    assert sum(told) == work == 1503


def test_many_files_take_few_requests(importing: Importing, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(250):
        importing.write(f"D{number % 5}/{number}.txt", f"content {number}")
    urls: list[str] = []
    session = importing.runtime.store.server.resource.session
    request = session.request

    def counted(method: str, url: str, **kwargs: object) -> object:
        urls.append(url)
        return request(method, url, **kwargs)

    monkeypatch.setattr(session, "request", counted)
    assert importing.run() == Summary(added=250, folders=5)
    assert len(urls) < 20
    urls.clear()
    assert importing.run() == Summary(unchanged=250)
    assert len(urls) < 20
    assert len(importing.documents()) == 256


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_it_goes_on_where_it_was_broken_off(importing: Importing, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    """At every request to the database in turn, before or after it was carried out."""
    for path, content in {"Old/a": "aa", "Old/Deep/b": "bbb", "Same/d": "d", "c": "cccc", "gone": "ddddd"}.items():
        importing.write(path, content)
    importing.write("changed", "1")
    importing.write("Gone/e", "eeeeee")
    importing.run()
    before = importing.documents()
    (importing.local / "Old").rename(importing.local / "New")
    (importing.local / "Same").rename(importing.local / "Renamed")
    (importing.local / "c").rename(importing.local / "New" / "c")
    (importing.local / "gone").unlink()
    (importing.local / "Gone" / "e").unlink()
    (importing.local / "Gone").rmdir()
    importing.write("changed", "22")
    importing.write("added", "3333333")
    with monkeypatch.context() as patch:
        failing = Failing(importing.runtime, patch, lost)
        while not failing.ran_through(importing.run):
            pass
    assert importing.run() == Summary(unchanged=6)
    docs = importing.documents()
    files = {path: importing.content(path) for path, doc in docs.items() if doc["type"] == "file"}
    assert files == {
        "/Docs/New/a": b"aa",
        "/Docs/New/Deep/b": b"bbb",
        "/Docs/New/c": b"cccc",
        "/Docs/Renamed/d": b"d",
        "/Docs/changed": b"22",
        "/Docs/added": b"3333333",
    }
    assert importing.trashed() == ["Gone", "Old", "gone"]
    assert importing.content("/.cozy_trash/Gone/e") == b"eeeeee"
    for old, new in {"Old/a": "New/a", "Old/Deep/b": "New/Deep/b", "c": "New/c", "Same": "Renamed"}.items():
        assert docs[f"/Docs/{new}"]["_id"] == before[f"/Docs/{old}"]["_id"]


class Failing:
    """Fails the first request to the document database, at the next run the second, and so on."""

    def __init__(self, runtime: Runtime, patch: pytest.MonkeyPatch, lost: str) -> None:
        self._session = runtime.store.server.resource.session
        self._request = self._session.request
        self._lost = lost
        self._at, self._count = 0, 0
        patch.setattr(self._session, "request", self._failing)

    def ran_through(self, run: Callable[[], object]) -> bool:
        self._at += 1
        self._count = 0
        try:
            run()
        except Retryable:
            return False
        return True

    def _failing(self, method: str, url: str, **kwargs: object) -> Answer:
        self._count += 1
        if self._count == self._at and self._lost == "request":
            raise ConnectionError
        response = self._request(method, url, **kwargs)
        if self._count == self._at:
            raise ConnectionError
        return response


def test_a_long_list_of_directories_is_moved(importing: Importing) -> None:
    for number in range(130):
        (importing.local / "One" / f"d{number}" / "é").mkdir(parents=True)
    importing.write("one/other.txt")
    importing.write("One0/other.txt")
    importing.run("/")
    before = importing.documents()
    importing.editor.move(before["/One"], importing.editor.mkdir("/Target"), "Moved")
    after = importing.documents()
    assert {path.replace("/One/", "/Target/Moved/") for path in before} - {"/One"} == after.keys() - {
        "/Target",
        "/Target/Moved",
    }
    for path in ("/one", "/one/other.txt", "/One0", "/One0/other.txt"):
        assert after[path] == before[path]


def test_paths_that_are_too_long_for_the_storage(importing: Importing) -> None:
    """The local folder's own path is the shorter one here: what fits there does not fit in the storage."""
    importing.write("fine.txt")
    room = 4096 - len(str(importing.runtime.storage.root / importing.instance.domain / "Docs"))
    target = "/Docs" + "/deep".ljust(200, "p") * (room // 200 - 1)
    importing.write("d" * 150 + "/" + "e" * 150 + "/a.txt")
    assert importing.run(target) == Summary(added=1, folders=1, failed=2)
    assert importing.run(target) == Summary(unchanged=1, failed=2)
