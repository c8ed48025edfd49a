"""The text of a file, by its format."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path, PurePath

import docx
import pypdf
from bs4 import BeautifulSoup
from docx.table import Table

from deploy.sandbox.chunks import Page
from deploy.sandbox.errors import ApiError

MIMETYPES = {
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/html": "html",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}


class Unreadable(Exception):
    """The content is not of the format that its name says."""


def format_of(filename: str, mimetype: str | None) -> str:
    """The extension whose reader applies: the file's own, else that of `mimetype`. Raises a 415."""
    extension = PurePath(filename).suffix.lower().removeprefix(".")
    if extension in READERS:
        return extension
    base = (mimetype or "").split(";")[0].strip().lower()
    if base in MIMETYPES:
        return MIMETYPES[base]
    raise ApiError(
        415, f"Unsupported file format: '{extension}' ({mimetype or 'no mimetype'})", "UNSUPPORTED_FILE_FORMAT"
    )


def pages_of(path: Path, extension: str) -> list[Page]:
    """Raises `Unreadable`, whatever went wrong in a parser: a broken file is its task's failure."""
    try:
        return READERS[extension](path)
    except Exception as error:  # noqa: BLE001
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _text(path: Path) -> list[Page]:
    return [Page(1, _decode(path.read_bytes()))]


def _csv(path: Path) -> list[Page]:
    rows = csv.reader(io.StringIO(_decode(path.read_bytes())))
    return [Page(1, "\n".join(" | ".join(row) for row in rows))]


def _html(path: Path) -> list[Page]:
    soup = BeautifulSoup(_decode(path.read_bytes()), "html.parser")
    for hidden in soup(["script", "style", "template", "noscript"]):
        hidden.decompose()
    text = re.sub(r"[ \t]+", " ", soup.get_text("\n"))
    return [Page(1, re.sub(r"\s*\n\s*", "\n", text).strip())]


def _pdf(path: Path) -> list[Page]:
    with pypdf.PdfReader(path) as reader:
        return [Page(number, page.extract_text()) for number, page in enumerate(reader.pages, start=1)]


def _docx(path: Path) -> list[Page]:
    lines: list[str] = []
    for block in docx.Document(str(path)).iter_inner_content():
        if isinstance(block, Table):
            lines += [" | ".join(cell.text for cell in row.cells) for row in block.rows]
        else:
            lines.append(block.text)
    return [Page(1, "\n".join(lines))]


READERS: dict[str, Callable[[Path], list[Page]]] = {
    "txt": _text,
    "md": _text,
    "csv": _csv,
    "html": _html,
    "htm": _html,
    "pdf": _pdf,
    "docx": _docx,
}
