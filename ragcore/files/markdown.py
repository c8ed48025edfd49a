"""Markdown blocks, one after the other: on a page, or made one line inside the cell of a table."""

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

from ragcore.files.markdown_inline import code_span, fence

# Deeper lists and quotes are written at this depth: readers stop there, and each line would cost its depth.
MAX_DEPTH = 20
# Merged cells are laid out up to this column; the cells of a wider table follow each other.
MAX_COLUMNS = 100

_LINE_START = re.compile(r"#{1,6}(?=\s|$)|>|[-+](?=[\s-]|$)|=(?==*$)|:(?=-)")
_LIKE_A_NUMBER = re.compile(r"^([0-9]{1,9})(?=[.)](?:\s|$))")
_CLOSING_HASHES = re.compile(r"(?:^|(?<=\s))#+$")


class Blocks(Protocol):
    """Where blocks are written. Text is Markdown of one block, its line breaks as `\\n`; empty text is nothing."""

    in_cell: bool

    def text(self, text: str) -> None: ...
    def heading(self, level: int, text: str) -> None: ...
    def code(self, text: str, language: str) -> None: ...
    def rule(self) -> None: ...
    def open_quote(self) -> None: ...
    def open_item(self, marker: str, box: str) -> None:
        """A list's item, `marker` being `- ` or `2. ` (spaces: further lines of the item before), `box` a task's."""

    def end_list(self) -> None: ...
    def close(self) -> None:
        """Ends the quote or item that was opened last."""


@dataclass(slots=True)
class _Container:
    """A quote or an item: what its first line begins with, and what the others do."""

    first: str
    rest: str
    is_item: bool
    used: bool = False


class Page:
    """The blocks of a document."""

    in_cell = False

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._open: list[_Container] = []
        self._beyond = 0
        self._ended_item = -1
        self._box = ""

    def __str__(self) -> str:
        """All that was written, ending with a line break; empty when nothing was."""
        return "".join(f"{line}\n" for line in self._lines)

    def text(self, text: str) -> None:
        lines = [_as_text(line) for part in text.split("\n") if (line := part.strip())]
        if lines:
            box, self._box = self._box, ""
            lines[0] = box + lines[0]
            self._write([*(f"{line}\\" for line in lines[:-1]), lines[-1]])

    def heading(self, level: int, text: str) -> None:
        if title := " ".join(text.split("\n")).strip():
            self._write([f"{'#' * level} {_CLOSING_HASHES.sub(_escaped, title)}"])

    def code(self, text: str, language: str) -> None:
        if text.strip():
            ticks = fence(text, 3)
            self._write([f"{ticks}{language}", *text.split("\n"), ticks])

    def rule(self) -> None:
        # not of `-`: after an item's marker those would be a rule in place of the item
        self._write(["***"])

    def table(self, lines: list[str]) -> None:
        if lines:
            self._write(lines)

    def open_quote(self) -> None:
        self._open_container(_Container("> ", "> ", False))

    def open_item(self, marker: str, box: str) -> None:
        self._open_container(_Container(marker, " " * len(marker), True))
        self._box = box

    def end_list(self) -> None:
        self._ended_item = -1

    def close(self) -> None:
        self._box = ""
        if self._beyond:
            self._beyond -= 1
        elif (ended := self._open.pop()).used and ended.is_item:
            self._ended_item = len(self._open)

    def _open_container(self, container: _Container) -> None:
        self._write_box()
        if len(self._open) < MAX_DEPTH:
            self._open.append(container)
        else:
            self._beyond += 1

    def _write_box(self) -> None:
        """A task's box alone: what follows it must begin its own line."""
        box, self._box = self._box.strip(), ""
        if box:
            self._write([box])

    def _write(self, lines: list[str]) -> None:
        self._write_box()
        if self._lines and not self._follows_closely():
            begun = takewhile(lambda container: container.used, self._open)
            self._lines.append("".join(container.rest for container in begun).rstrip())
        self._ended_item = -1
        self._lines.append(self._prefix() + lines[0])
        for container in self._open:
            container.used = True
        prefix = self._prefix()
        self._lines.extend(prefix + line if line else prefix.rstrip() for line in lines[1:])

    def _prefix(self) -> str:
        return "".join(container.rest if container.used else container.first for container in self._open)

    def _follows_closely(self) -> bool:
        """Whether no empty line is wanted: a further item, or the first one of a list below an item's text."""
        new = next((index for index, container in enumerate(self._open) if not container.used), -1)
        if new < 0 or not self._open[new].is_item:
            return False
        below_text = new > 0 and self._open[new - 1].is_item
        # only these markers end a paragraph: other numbers would be read as its next line
        return new == self._ended_item or (below_text and self._open[new].first in ("- ", "1. ", "  "))


class Table:
    """The rows of one table; blocks inside a cell become one line, nested tables too."""

    in_cell = True

    def __init__(self) -> None:
        self._rows: list[list[list[str]]] = []
        # the columns that a cell of a row above still covers, and for how many rows
        self._covered: dict[int, int] = {}
        self._cell: list[str] | None = None
        self._markers: list[str] = []

    def lines(self) -> list[str]:
        """The table as Markdown, its first row as the header; rows without text are left out."""
        rows = [[" ".join(pieces) for pieces in row] for row in self._rows if any(row)]
        if not rows:
            return []
        width = max(map(len, rows))
        header, *body = ([*row, *[""] * (min(width, MAX_COLUMNS) - len(row))] for row in rows)
        header += [""] * (width - len(header))
        return [_row(header), _row(["---"] * width), *map(_row, body)]

    def begin_row(self) -> None:
        self._covered = {column: left - 1 for column, left in self._covered.items() if left > 1}
        self._rows.append([])
        self._cell = None

    def begin_cell(self, columns: int, rows: int) -> list[str]:
        """A cell that covers so many columns and rows, itself included; gives where its lines go."""
        if not self._rows:
            self.begin_row()
        row = self._rows[-1]
        while len(row) in self._covered:
            row.append([])
        start = len(row)
        cell: list[str] = []
        self._cell = cell
        row.append(cell)
        row.extend([] for _ in range(min(columns, MAX_COLUMNS - start) - 1))
        if rows > 1:
            # one more: the row itself is counted when the next one begins
            self._covered.update(dict.fromkeys(range(start, min(len(row), MAX_COLUMNS)), rows))
        return cell

    def end_cell(self) -> None:
        self._cell = None

    def text(self, text: str) -> None:
        line = " ".join(part.strip() for part in text.split("\n")).strip()
        if not line:
            return
        cell = self.begin_cell(1, 1) if self._cell is None else self._cell
        cell += [*filter(None, self._markers), line]
        self._markers.clear()

    def heading(self, level: int, text: str) -> None:
        self.text(text)

    def code(self, text: str, language: str) -> None:
        self.text(code_span(" ".join(text.split("\n")), self.in_cell))

    def rule(self) -> None:
        """A cell has none."""

    def open_quote(self) -> None:
        self._markers.append("")

    def open_item(self, marker: str, box: str) -> None:
        self._markers.append(f"{marker}{box}".strip())

    def end_list(self) -> None:
        """A cell shows only the markers."""

    def close(self) -> None:
        # those that text was written for are gone from the list: what is left was opened last
        if self._markers:
            self._markers.pop()


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _as_text(line: str) -> str:
    """A line that Markdown does not take for the start of another block."""
    return f"\\{line}" if _LINE_START.match(line) else _LIKE_A_NUMBER.sub(r"\1\\", line, count=1)


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"
