"""The storage of contents, on a real file system."""

import io
import os
from pathlib import Path

import pytest

from ragcore.errors import Conflict, Invalid, NotFound, Retryable
from ragcore.files.storage import TEMPORARY, Storage

DOMAIN = "alice.localhost"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(f"file://{tmp_path}/the%20files")


def content(storage: Storage, path: str) -> bytes:
    with storage.open(DOMAIN, path) as file:
        return file.read()


def aside(storage: Storage) -> list[str]:
    return os.listdir(storage.root / TEMPORARY)


class Breaking(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        if piece := super().read(3):
            return piece
        raise Conflict("no more")


@pytest.mark.parametrize("name", ["a b.txt", "😀" * 63 + "abc", "é", "new\nline", "-rf", "%20"])
def test_what_is_written_is_read(storage: Storage, name: str) -> None:
    with storage.writing(DOMAIN, f"/A/{name}", io.BytesIO(b"hello")) as stored:
        assert (stored.size, stored.md5sum) == (5, "XUFAKrxLKna5cZ2REBfFkg==")
        assert content(storage, f"/A/{name}") == b"hello"
    assert aside(storage) == []


def test_a_half_written_file_is_never_seen(storage: Storage) -> None:
    with storage.writing(DOMAIN, "/a", io.BytesIO(b"former")):
        pass
    with pytest.raises(Conflict):
        storage.write(DOMAIN, "/a", Breaking(b"half of it"))
    assert content(storage, "/a") == b"former"
    with pytest.raises(Conflict):
        storage.write(DOMAIN, "/b", Breaking(b"half of it"))
    with pytest.raises(NotFound):
        storage.open(DOMAIN, "/b")
    assert aside(storage) == []


def refused(storage: Storage, path: str, error: Exception) -> None:
    with pytest.raises(type(error)), storage.writing(DOMAIN, path, io.BytesIO(b"new")):
        raise error


def test_a_refused_document_brings_the_former_content_back(storage: Storage) -> None:
    with storage.writing(DOMAIN, "/a", io.BytesIO(b"former")):
        pass
    refused(storage, "/a", Conflict("somebody was faster"))
    assert content(storage, "/a") == b"former"
    refused(storage, "/b", Conflict("somebody was faster"))
    with pytest.raises(NotFound):
        storage.open(DOMAIN, "/b")
    refused(storage, "/a", Retryable("it may be written or not"))
    assert content(storage, "/a") == b"new"
    assert aside(storage) == []


def test_a_move_can_be_done_again(storage: Storage) -> None:
    with storage.writing(DOMAIN, "/A/B/c", io.BytesIO(b"x")):
        pass
    for _ in (1, 2):
        storage.move(DOMAIN, "/A", "/New/A")
    assert content(storage, "/New/A/B/c") == b"x"
    with pytest.raises(NotFound):
        storage.move(DOMAIN, "/A", "/Elsewhere")
    storage.delete(DOMAIN, "/New")
    storage.delete(DOMAIN, "/New")
    with pytest.raises(NotFound):
        storage.open(DOMAIN, "/New/A/B/c")


def test_leftovers_of_the_other_kind_give_way_but_no_content(storage: Storage) -> None:
    storage.make_directory(DOMAIN, "/a/b")
    with storage.writing(DOMAIN, "/a", io.BytesIO(b"x")):
        pass
    storage.make_directory(DOMAIN, "/a")
    with storage.writing(DOMAIN, "/a/b/c", io.BytesIO(b"x")):
        pass
    with pytest.raises(Retryable):
        storage.write(DOMAIN, "/a", io.BytesIO(b"y"))
    assert content(storage, "/a/b/c") == b"x"


def test_errors_do_not_tell_paths(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(Retryable, match="cannot be reached") as away:
        storage.open(DOMAIN, "/a")
    storage.make_directory(DOMAIN, "/")
    with pytest.raises(Invalid, match="too long") as long:
        storage.write(DOMAIN, "/x" * 4096, io.BytesIO())
    for odd in ("/", "/" + "x" * 300, "/a\0b"):
        with pytest.raises(NotFound) as directory:
            storage.open(DOMAIN, odd)
    for error in (away, long, directory):
        assert str(tmp_path) not in str(error.value)


def test_links_do_not_lead_out(storage: Storage, tmp_path: Path) -> None:
    storage.make_directory(DOMAIN, "/")
    (tmp_path / "secret").write_text("secret")
    (storage.root / DOMAIN / "link").symlink_to(tmp_path)
    for path in ("/link/secret", "/../../secret"):
        with pytest.raises(NotFound):
            storage.open(DOMAIN, path)
    with pytest.raises(NotFound):
        storage.write(DOMAIN, "/link/new", io.BytesIO(b"x"))
    assert not (tmp_path / "new").exists()


def test_links_that_stay_inside_are_followed(storage: Storage) -> None:
    storage.write(DOMAIN, "/A/a", io.BytesIO(b"inside")).keep()
    (storage.root / DOMAIN / "B").symlink_to("A")
    (storage.root / DOMAIN / "A" / "b").symlink_to("../A/a")
    (storage.root / DOMAIN / "ring").symlink_to("ring")
    assert [content(storage, path) for path in ("/B/a", "/A/b", "/B/b", "/A/../A/a")] == [b"inside"] * 4
    for path in ("/ring", "/A", "/", ""):
        with pytest.raises(NotFound):
            storage.open(DOMAIN, path)


@pytest.mark.parametrize("other", ["bob.localhost", "alice.localhost.org"])
def test_nothing_of_another_instance_is_read(storage: Storage, other: str) -> None:
    storage.write(other, "/secret", io.BytesIO(b"theirs")).keep()
    storage.make_directory(DOMAIN, "/")
    home = storage.root / DOMAIN
    (home / "file").symlink_to(storage.root / other / "secret")
    (home / "folder").symlink_to(f"../{other}")
    (home / "twice").symlink_to("folder")
    for path in ("/file", "/folder/secret", "/twice/secret", f"/../{other}/secret", f"/folder/../{other}/secret"):
        with pytest.raises(NotFound):
            storage.open(DOMAIN, path)


def test_a_link_that_is_put_there_meanwhile_leads_nowhere(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder becomes a link after it was looked at."""
    storage.write(DOMAIN, "/A/secret", io.BytesIO(b"ours")).keep()
    (tmp_path / "secret").write_text("s")
    folder, opened = storage.root / DOMAIN / "A", os.open

    def swapping(path: str | Path, *args: int, **kwargs: int) -> int:
        if path == "A":
            folder.rename(folder.with_name("former"))
            folder.symlink_to(tmp_path)
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(NotFound):
        storage.open(DOMAIN, "/A/secret")


def test_what_is_no_file_is_not_waited_for(storage: Storage) -> None:
    storage.make_directory(DOMAIN, "/")
    os.mkfifo(storage.root / DOMAIN / "pipe")
    with pytest.raises(NotFound):
        storage.open(DOMAIN, "/pipe")


def test_what_was_left_aside_long_ago_goes(storage: Storage) -> None:
    storage.make_directory("", TEMPORARY)
    old, young = (storage.root / TEMPORARY / name for name in ("old", "young"))
    for place in (old, young):
        place.write_text("left")
    os.utime(old, (1, 1))
    storage.tidy()
    assert aside(storage) == ["young"]
