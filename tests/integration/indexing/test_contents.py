"""Contents that are not the ones of their documents, before or while they are sent: never under a right md5sum."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ragcore.documents import Directory
from ragcore.files.checked import Checked
from ragcore.store import Document
from tests.support.files import Drive
from tests.support.indexing import Indexer

LARGE = "one " * 50_000


@pytest.fixture
def file(folder: Directory, drive: Drive) -> Document:
    return drive.file("/Papers/bad.txt", LARGE)


@pytest.fixture
def place(file: Document, drive: Drive) -> Path:
    return drive.runtime.storage.root / drive.instance.domain / "Papers/bad.txt"


CHANGES: dict[str, Callable[[Path], object]] = {
    "other bytes": lambda place: place.write_text("two " * 50_000),
    "shorter": lambda place: place.write_text("two"),
    "cut off": lambda place: place.write_text(LARGE[:100_000]),
    "longer": lambda place: place.write_text(LARGE + "and more"),
    "empty": lambda place: place.write_text(""),
    "gone": lambda place: place.unlink(),
}


def check_skipped(file: Document, drive: Drive, indexer: Indexer, *reasons: str) -> None:
    """It is skipped with a reason, the others are indexed, and it is indexed once it is whole again."""
    good = drive.file("/Papers/good.txt", "good")
    job_id = indexer.read_feed(good)
    assert indexer.job(job_id)["state"] == "done"
    assert indexer.content_of(file["_id"]) is None
    assert (indexer.status(file)["status"], indexer.status(file)["reason"] in reasons) == ("notsupported", True)
    changed = drive.replace(indexer.fresh(file["_id"]), "whole again")
    indexer.read_feed(changed)
    assert "reason" not in indexer.status(file)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_content_that_changed_before_it_is_sent(
    file: Document, place: Path, drive: Drive, indexer: Indexer, change: Callable[[Path], object]
) -> None:
    change(place)
    check_skipped(file, drive, indexer, "changed", "missing")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_content_that_changes_while_it_is_sent(
    file: Document, place: Path, drive: Drive, indexer: Indexer, change: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """One that is unlinked meanwhile is read to its end all the same: that is the right content."""
    read, changed = Checked.read, []

    def meanwhile(content: Checked, size: int = -1) -> bytes:
        piece = read(content, size)
        if content.len and not changed:
            changed.append(change(place))
        return piece

    monkeypatch.setattr(Checked, "read", meanwhile)
    if change is CHANGES["gone"]:
        indexer.read_feed(file)
    else:
        check_skipped(file, drive, indexer, "changed")
    assert changed


def test_a_changed_content_takes_the_former_one_from_openrag(folder: Directory, drive: Drive, indexer: Indexer) -> None:
    file = drive.file("/Papers/one.txt", "one")
    indexer.read_feed(file)
    changed = drive.replace(file, "two")
    (drive.runtime.storage.root / drive.instance.domain / "Papers/one.txt").write_text("odd")
    indexer.read_feed()
    assert indexer.content_of(file["_id"]) is None
    assert indexer.status(file)["docRev"] == changed["_rev"]
