"""Names, and what becomes of a document."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragcore.documents import Directory
from ragcore.errors import Invalid
from ragcore.files import records
from ragcore.files.kinds import class_of, mime_of

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=255)


@given(names, st.integers(2, 10_000), st.integers(2, 10_000))
def test_a_numbered_name_is_a_name_and_another_one(name: str, number: int, other: int) -> None:
    assume(name not in (".", "..") and len(name.encode()) <= records.LONGEST_NAME)
    made = records.numbered(name, number)
    records.check_name(made)
    assert made != name
    assert number == other or made != records.numbered(name, other)


def test_a_number_comes_before_the_ending() -> None:
    assert records.numbered("a.b.txt", 2) == "a.b (2).txt"
    assert records.numbered("Makefile", 3) == "Makefile (3)"
    assert records.numbered("é" * 125 + ".md", 2).endswith("é (2).md")
    assert len(records.numbered("x" + "." + "e" * 253, 2).encode()) == 255


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "é" * 128, "\udcff.txt"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(Invalid):
        records.check_name(name)


@pytest.mark.parametrize(
    ("name", "mime", "kind"),
    [
        ("a.txt", "text/plain", "text"),
        ("README.MD", "text/markdown", "text"),
        ("Plan.cozy-note", "text/vnd.cozy.note+markdown", "text"),
        ("Plan.docs-note", "text/markdown", "text"),
        ("a.pdf", "application/pdf", "pdf"),
        ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "text"),
        ("a.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "spreadsheet"),
        ("a.odp", "application/vnd.oasis.opendocument.presentation", "slide"),
        ("a.py", "text/x-python", "code"),
        ("a.html", "text/html", "code"),
        ("a.txt.gz", "application/gzip", "zip"),
        ("a.tar", "application/x-tar", "zip"),
        ("a.jpg", "image/jpeg", "image"),
        ("a.mp3", "audio/mpeg", "audio"),
        ("a.mp4", "video/mp4", "video"),
        ("what: a? #1.pdf", "application/pdf", "pdf"),
        ("data:text,x.pdf", "application/pdf", "pdf"),
        ("txt", "application/octet-stream", "files"),
        (".pdf", "application/octet-stream", "files"),
        ("a.unheard-of", "application/octet-stream", "files"),
    ],
)
def test_the_type_and_the_class_of_a_name(name: str, mime: str, kind: str) -> None:
    assert (mime_of(name), class_of(mime_of(name))) == (mime, kind)


def test_another_ending_is_another_type() -> None:
    doc = {"_id": "f", "type": "file", "name": "a.txt", "dir_id": "d", "mime": "text/special", "class": "text"}
    target = Directory("e", "E", "/E")
    assert records.moved(doc, target, "b.txt")["mime"] == "text/special"
    changed = records.moved(doc, target, "b.pdf")
    assert (changed["dir_id"], changed["name"], changed["mime"], changed["class"]) == (
        "e",
        "b.pdf",
        "application/pdf",
        "pdf",
    )
    assert "path" not in changed
