"""Notes as Markdown, for the index (contracts/cozy.md, files).

The text of a note is a ProseMirror document in the `metadata` of its file. It is written so that a search finds
its words: what Markdown has no words for (colors, alignment) is left out, and a mark that would cut a word is too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta

from ragcore.files.markdown import Blocks, Page, Table
from ragcore.files.markdown_inline import MARKS, Run, image, render
from ragcore.files.prosemirror import Node, walk

NOTE_MIME = "text/vnd.cozy.note+markdown"

_TEXT_BLOCKS = frozenset({"paragraph", "heading", "taskItem", "decisionItem"})
_LISTS = frozenset({"bulletList", "orderedList", "taskList", "decisionList"})
_ITEMS = frozenset({"listItem", "taskItem", "decisionItem"})
_BLOCKS = (
    _TEXT_BLOCKS
    | _LISTS
    | _ITEMS
    | {"doc", "blockquote", "rule", "codeBlock", "panel", "mediaSingle"}
    | {"table", "tableRow", "tableHeader", "tableCell"}
)
_INLINE = frozenset({"text", "hardBreak", "status", "date", "media", "image"})
_PANELS = {"info": "Info", "note": "Note", "success": "Success", "warning": "Warning", "error": "Error"}
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]+")
_LAST_NUMBER = 999_999_999
_DAY_MS = 86_400_000


def is_note(mime: str, name: str) -> bool:
    """Whether a file's text is the document in its metadata, rather than its stored content."""
    return mime.lower() == NOTE_MIME and name.lower().endswith(".cozy-note")


def indexed_name(name: str) -> str:
    """The name that the indexer is given: both kinds of notes are sent as Markdown."""
    stem, dot, ending = name.rpartition(".")
    return f"{stem}.md" if dot and ending.lower() in ("cozy-note", "docs-note") else name


def to_markdown(metadata: Mapping[str, object]) -> str:
    """The note of a file's `metadata` as Markdown; `""` when it has no text.

    Any JSON is taken, and all the text in it is given, in its order; the schema is not needed. Linear in the size
    of the document, and not limited in depth.
    """
    note = _Note()
    for opening, node in walk(metadata.get("content")):
        if opening:
            note.enter(node)
        else:
            note.leave(node)
    # two halves of a surrogate pair can stand in two nodes; one alone cannot be sent
    return note.markdown().encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def iso_date(timestamp: object) -> str:
    """The day, UTC, of milliseconds since 1970, a string or an integer; a string that is none is given back."""
    text = str(timestamp) if isinstance(timestamp, str | int) and not isinstance(timestamp, bool) else ""
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        return text
    days = int(text) // _DAY_MS
    earliest, latest = (day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max))
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat() if earliest <= days <= latest else text


@dataclass(slots=True)
class _Numbering:
    """A list: the number of its next item (0 when it has none), and the width of its last marker."""

    number: int
    width: int = 2

    def marker(self) -> str:
        marker = f"{self.number}. " if self.number else "- "
        self.number += bool(self.number and self.number < _LAST_NUMBER)
        self.width = len(marker)
        return marker


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the document we are. `table`: the one whose rows and cells come next, not one inside a cell of it."""

    blocks: Blocks
    table: Table | None = None
    numbering: _Numbering | None = None
    in_text: bool = False
    in_code: bool = False


class _Note:
    """Takes the nodes of a document in their order, and writes their blocks."""

    def __init__(self) -> None:
        self._page = Page()
        self._place = _Place(self._page)
        self._outer: list[_Place | None] = []
        self._runs: list[Run] = []
        self._code: list[str] = []
        self._heading = 0

    def markdown(self) -> str:
        self._end_text()
        return str(self._page)

    def enter(self, node: Node) -> None:
        # an unknown node is a part of the text that it stands in, elsewhere a block
        if node.type in _BLOCKS or not (node.type in _INLINE or self._place.in_text):
            self._end_text()
            self._outer.append(self._place)
            if not self._place.in_code:
                self._place = replace(self._place, in_text=node.type in _TEXT_BLOCKS)
                self._open(node)
        else:
            self._outer.append(None)
        self._runs.extend(_runs(node))

    def leave(self, node: Node) -> None:
        outer = self._outer.pop()
        if outer is None:
            return
        self._end_text()
        inner, self._place = self._place, outer
        if not outer.in_code:
            self._close(node, inner)

    def _end_text(self) -> None:
        runs, self._runs = self._runs, []
        level, self._heading = self._heading, 0
        blocks = self._place.blocks
        if self._place.in_code:
            self._code.extend(["".join(run.text for run in runs)] if runs else [])
        elif level:
            blocks.heading(level, render(runs, blocks.in_cell))
        else:
            blocks.text(render(runs, blocks.in_cell))

    def _open(self, node: Node) -> None:
        place = self._place
        match node.type:
            case "heading":
                self._heading = node.integer("level", 1, 1, 6)
            case "codeBlock":
                self._place = replace(place, in_code=True)
            case "rule":
                place.blocks.rule()
            case "blockquote":
                place.blocks.open_quote()
            case "panel":
                self._open_panel(node)
            case "table" | "tableRow" | "tableHeader" | "tableCell":
                self._open_table(node)
            case kind if kind in _LISTS:
                self._open_list(node)
            case kind if kind in _ITEMS:
                self._open_item(node)

    def _close(self, node: Node, inner: _Place) -> None:
        match node.type:
            case "codeBlock":
                self._write_code(node)
            case "table":
                self._page.table(inner.table.lines() if inner.table else [])
            case "tableHeader" | "tableCell" if inner.table:
                inner.table.end_cell()
            case "blockquote" | "panel":
                inner.blocks.close()
            case kind if kind in _ITEMS:
                inner.blocks.close()
            case kind if kind in _LISTS:
                inner.blocks.end_list()
                if self._place.numbering:
                    inner.blocks.close()

    def _open_panel(self, node: Node) -> None:
        self._place.blocks.open_quote()
        if label := _PANELS.get(node.string("panelType")):
            self._place.blocks.text(f"**{label}**")

    def _open_list(self, node: Node) -> None:
        if outer := self._place.numbering:
            # a list right inside a list belongs to the item before it
            self._place.blocks.open_item(" " * outer.width, "")
        number = node.integer("order", 1, 1, _LAST_NUMBER) if node.type == "orderedList" else 0
        self._place = replace(self._place, numbering=_Numbering(number))

    def _open_item(self, node: Node) -> None:
        marker = (self._place.numbering or _Numbering(0)).marker()
        done = "[x] " if node.string("state") == "DONE" else "[ ] "
        self._place.blocks.open_item(marker, done if node.type == "taskItem" else "")
        self._place = replace(self._place, numbering=None)

    def _open_table(self, node: Node) -> None:
        table = self._place.table
        if node.type == "table":
            # inside a cell, the rows of a further table are only text
            new = None if self._place.blocks.in_cell else Table()
            self._place = replace(self._place, table=new, blocks=new or self._place.blocks, numbering=None)
        elif table and node.type == "tableRow":
            table.begin_row()
        elif table:
            columns, rows = (node.integer(name, 1, 1, _LAST_NUMBER) for name in ("colspan", "rowspan"))
            table.begin_cell(columns, rows)

    def _write_code(self, node: Node) -> None:
        code, self._code = "\n".join(self._code), []
        language = node.string("language").strip()
        known = language if _LANGUAGE.fullmatch(language) else ""
        self._place.blocks.code(code.replace("\r\n", "\n").replace("\r", "\n").strip("\n"), known)


def _runs(node: Node) -> list[Run]:
    """What the node itself says, what is inside it aside."""
    marks = node.mark_attrs()
    href = marks.get("link", {}).get("href")
    like = Run("", MARKS.intersection(marks), href.strip() if isinstance(href, str) else "")
    own = [replace(like, text=node.text)] if node.text else []
    match node.type:
        case "hardBreak":
            return [replace(like, text="\n"), *own]
        case "date":
            return [replace(like, text=iso_date(node.attrs.get("timestamp"))), *own]
        case "media" | "image":
            return [_image(node, like), *own]
        case "status":
            return [replace(like, text=node.string("text")), *own]
    # mentions and their like keep their words there
    is_leaf = not (own or node.children)
    return [replace(like, text=node.string("text"))] if is_leaf and node.type not in _BLOCKS else own


def _image(node: Node, like: Run) -> Run:
    alt, url = node.string("alt"), node.string("url") or node.string("src")
    # an image inside its own address says nothing to a reader
    shown = url and not url.startswith("data:")
    return replace(like, text=image(alt, url), raw=True) if shown else replace(like, text=alt)
