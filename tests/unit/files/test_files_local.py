"""The reading of a local folder and of its files."""

import os
from pathlib import Path

import pytest

from ragcore.errors import Invalid
from ragcore.files.local import Unreadable, md5_of, read_local, reading, shown


@pytest.fixture
def warnings() -> list[str]:
    return []


def test_what_stands_in_a_folder(tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "A" / "é").mkdir(parents=True)
    (tmp_path / "A" / "a b.txt").write_text("hello")
    os.utime(tmp_path / "A" / "a b.txt", ns=(0, 1_700_000_000_123_999_999))
    (tmp_path / ".cozy_trash").mkdir()
    found = read_local(str(tmp_path), warnings.append, reserved=".cozy_trash")
    assert found.directories == {"A", "A/é"}
    assert [(path, file.size, file.updated_at) for path, file in found.files.items()] == [
        ("A/a b.txt", 5, "2023-11-14T22:13:20.123Z")
    ]
    assert len(warnings) == 1


@pytest.mark.parametrize("seconds", [-(10**11), 10**12])
def test_times_that_no_date_can_say(tmp_path: Path, warnings: list[str], seconds: int) -> None:
    (tmp_path / "a").touch()
    os.utime(tmp_path / "a", (seconds, seconds))
    assert read_local(str(tmp_path), warnings.append).files["a"].updated_at.endswith("Z")


def test_a_folder_that_cannot_be_read_is_unknown(tmp_path: Path, warnings: list[str]) -> None:
    """One that lies deeper than a path can be long: that holds for root too, unlike a permission."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=here)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    found = read_local(str(tmp_path), warnings.append)
    (unknown,) = found.unknown
    assert unknown.count("/") > 10
    (warning,) = warnings
    assert "File name too long" in warning


def test_a_folder_that_is_gone(tmp_path: Path, warnings: list[str]) -> None:
    with pytest.raises(Invalid):
        read_local(str(tmp_path / "gone"), warnings.append)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_text("hello")
    with reading(str(place)) as file:
        assert file.read(3) == b"hel"
        place.write_text("longer than it was")
        with pytest.raises(Unreadable, match="changed"):
            file.read(3)


def test_what_is_no_file_any_more_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("pipe", "link", "gone"):
        with pytest.raises(Unreadable), reading(str(tmp_path / name)):
            pass


def test_the_md5_of_what_was_listed_only(tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "a").write_text("hello")
    found = read_local(str(tmp_path), warnings.append)
    assert md5_of(found, "a") == "XUFAKrxLKna5cZ2REBfFkg=="
    (tmp_path / "a").write_text("other")
    os.utime(tmp_path / "a", (1, 1))
    assert md5_of(found, "a") is None


def test_a_path_is_shown_on_one_line() -> None:
    assert shown("é 😀/a\nb\x1b[2J\udcff") == "é 😀/a\\nb\\x1b[2J\\udcff"
