from pathlib import Path

import pytest

from deploy.sandbox.errors import ApiError
from deploy.sandbox.extract import Unreadable, format_of, pages_of


def text_of(path: Path, content: bytes, extension: str) -> str:
    path.write_bytes(content)
    return "\n".join(page.text for page in pages_of(path, extension))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "content"


@pytest.mark.parametrize(
    ("filename", "mimetype", "expected"),
    [
        ("A.TXT", None, "txt"),
        ("a.md", "application/pdf", "md"),
        ("a.unknown", "text/plain", "txt"),
        ("README", "Text/Markdown; charset=utf-8", "md"),
        ("a.tar.html", None, "html"),
    ],
)
def test_the_extension_counts_then_the_mimetype(filename: str, mimetype: str | None, expected: str) -> None:
    assert format_of(filename, mimetype) == expected


@pytest.mark.parametrize(("filename", "mimetype"), [("a.zip", None), ("a", "image/png"), ("txt", None)])
def test_other_formats_are_refused(filename: str, mimetype: str | None) -> None:
    with pytest.raises(ApiError) as refused:
        format_of(filename, mimetype)
    assert refused.value.status == 415


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_in_several_encodings(path: Path, encoding: str) -> None:
    assert text_of(path, "déjà vu €".encode(encoding), "txt") == "déjà vu €"


def test_html_loses_its_scripts_and_styles(path: Path) -> None:
    page = "<html><head><style>p{}</style></head><body><h1>Title</h1>\n\n<p>Some  <b>bold</b></p><script>x</script>"
    assert text_of(path, page.encode(), "html").split() == ["Title", "Some", "bold"]


def test_a_table_of_values(path: Path) -> None:
    assert text_of(path, b'name,price\n"A, B",3\n', "csv") == "name | price\nA, B | 3"


@pytest.mark.parametrize("extension", ["pdf", "docx"])
def test_a_broken_file_is_unreadable(path: Path, extension: str) -> None:
    with pytest.raises(Unreadable):
        text_of(path, b"nothing of the kind", extension)
