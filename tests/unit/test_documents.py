import base64
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.documents import FILES, Assistant, Directory, File, generation, is_inside

segments = st.text(alphabet="ab. é_", min_size=1, max_size=3)
paths = st.lists(segments, max_size=4)


def absolute(names: list[str]) -> str:
    return "/" + "/".join(names)


@given(paths, paths)
def test_containment_is_by_whole_segments(path: list[str], directory: list[str]) -> None:
    assert is_inside(absolute(path), absolute(directory)) == (path[: len(directory)] == directory)


@pytest.mark.parametrize(
    ("path", "directory", "inside"),
    [
        ("/.cozy_trash", "/.cozy_trash", True),
        ("/.cozy_trash/a", "/.cozy_trash", True),
        ("/.cozy_trashier", "/.cozy_trash", False),
        ("/.cozy_trashier/a", "/.cozy_trash", False),
        ("/a", "/", True),
        ("/", "/", True),
        ("/", "/a", False),
        ("/a/b", "/a/", True),
        ("/A/b", "/a", False),
    ],
)
def test_containment_by_example(path: str, directory: str, inside: bool) -> None:
    assert is_inside(path, directory) is inside


def test_a_folder_without_a_path_contains_nothing() -> None:
    assert not is_inside("/a/b", Directory.from_document({"_id": "d", "_rev": "1-a"}).path)


@pytest.mark.parametrize(
    ("path", "trashed"), [("/.cozy_trash/x", True), ("/.cozy_trash", True), ("/.cozy_trashier", False), ("/", False)]
)
def test_a_directory_in_the_trash(path: str, trashed: bool) -> None:
    assert Directory("d", "x", path).trashed is trashed


def test_a_file_as_its_document_says_it() -> None:
    file = File.from_document(
        {
            "_id": "f",
            "_rev": "3-a",
            "name": "a.pdf",
            "dir_id": "d",
            "size": "12",
            "md5sum": "1B2M2Y8AsgTpgAmY7PhCfg==",
            "mime": "application/pdf",
            "class": "pdf",
            "trashed": True,
            "encrypted": True,
            "created_at": "2026-01-01",
            "updated_at": "2026-01-02",
            "metadata": {"datetime": "2020-01-01"},
        }
    )
    assert (file.size, file.md5sum) == (12, "d41d8cd98f00b204e9800998ecf8427e")
    assert (file.class_, file.mime, file.trashed, file.encrypted) == ("pdf", "application/pdf", True, True)
    assert file.datetime == "2020-01-01"


def test_a_file_with_nothing_but_its_id() -> None:
    file = File.from_document({"_id": "f", "_rev": "1-a", "size": None, "md5sum": None, "metadata": None})
    assert (file.size, file.md5sum, file.mime, file.class_) == (0, "", "application/octet-stream", "files")
    assert (file.trashed, file.encrypted) == (False, False)


@pytest.mark.parametrize("mime", ["text/plain\r\nX: y", "text/plain\n", "text", "a/b, c/d", 7, "é/x"])
def test_a_type_that_is_none_would_be_more_than_a_header(mime: Any) -> None:
    assert File.from_document({"_id": "f", "_rev": "1-a", "mime": mime}).mime == "application/octet-stream"


def test_the_date_of_a_file_is_that_of_its_creation_where_it_has_no_other() -> None:
    assert File("f", "1-a", "n", "d", created_at="2026").datetime == "2026"


@given(st.binary(min_size=16, max_size=16))
def test_md5sums_are_hexadecimal_for_openrag(digest: bytes) -> None:
    doc = {"_id": "f", "_rev": "1-a", "md5sum": base64.b64encode(digest).decode()}
    assert File.from_document(doc).md5sum == digest.hex()


@pytest.mark.parametrize(
    "md5sum",
    [
        "abc",
        "****",
        "a b=",
        pytest.param("é"),
    ],
)
def test_an_md5sum_that_is_none(md5sum: str) -> None:
    assert File.from_document({"_id": "f", "_rev": "1-a", "md5sum": md5sum}).md5sum == ""


@pytest.mark.parametrize(
    ("rev", "number"),
    [("1-a", 1), ("12-abc-d", 12), ("", 0), ("x", 0), ("-a", 0), ("²-a", 0), ("-1-a", 0), ("1.5-a", 0), (" 1-a", 0)],
)
def test_the_generation_of_a_revision(rev: str, number: int) -> None:
    assert generation(rev) == number


def related(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"_id": "a", "relationships": {"knowledgeBase": {"data": list(entries)}}, **more}


KB = {"_id": "new", "_type": FILES}
FORMER = [{"doctype": FILES, "dirId": "old"}]


@pytest.mark.parametrize(
    ("doc", "folder"),
    [
        ({"_id": "a"}, None),
        (related(KB), "new"),
        ({"_id": "a", "knowledgeBase": FORMER}, "old"),
        (related(KB, knowledgeBase=FORMER), "new"),
        (related(knowledgeBase=FORMER), "old"),
        (related({"_id": "x", "_type": "io.cozy.contacts"}, knowledgeBase=FORMER), "old"),
        (related({"_id": "x", "_type": "io.cozy.contacts"}), None),
        (related({"_id": "x", "_type": "io.cozy.contacts"}, KB), "new"),
        (related(KB, {"_id": "second", "_type": FILES}), "new"),
        (related({"_id": "", "_type": FILES}), None),
        ({"_id": "a", "knowledgeBase": [{"doctype": "io.cozy.contacts", "dirId": "x"}]}, None),
        ({"_id": "a", "knowledgeBase": ["x", None, 3]}, None),
        ({"_id": "a", "knowledgeBase": "old"}, None),
        ({"_id": "a", "relationships": None, "knowledgeBase": FORMER}, "old"),
        ({"_id": "a", "relationships": {"knowledgeBase": None}}, None),
        ({"_id": "a", "relationships": {"knowledgeBase": {"data": None}}}, None),
    ],
)
def test_the_knowledge_base_folder(doc: dict[str, Any], folder: str | None) -> None:
    assert Assistant.from_document(doc).folder == folder


def test_of_several_folders_the_others_are_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Assistant.from_document(related(KB, {"_id": "second", "_type": FILES}, {"_id": "third", "_type": FILES}))
    assert "second, third" in caplog.text
    caplog.clear()
    Assistant.from_document(related(KB, KB, knowledgeBase=FORMER))
    assert not caplog.records


@pytest.mark.parametrize(
    ("account", "provider"),
    [
        ({"_id": "acc", "metadata": {"providerId": "mistral"}}, "acc"),
        ({"_id": "acc", "metadata": {"providerId": "openrag"}}, None),
        ({"_id": "acc", "metadata": {"providerId": ""}}, None),
        ({"_id": "acc"}, None),
        ({"_id": ["acc"], "metadata": {"providerId": "mistral"}}, None),
        ({"metadata": {"providerId": "mistral"}}, None),
        (None, None),
        ([{"_id": "acc", "metadata": {"providerId": "mistral"}}], None),
    ],
)
def test_the_provider_of_an_assistant(account: Any, provider: str | None) -> None:
    doc = {"_id": "a", "relationships": {"provider": {"data": account}}}
    assert Assistant.from_document(doc).provider == provider
