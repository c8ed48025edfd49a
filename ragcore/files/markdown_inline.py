"""The text of one block as Markdown: escapes, emphasis, links, code spans, images.

A line break inside a block is `\\n` here: the block knows how it is written.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

# Outermost first. Emphasis is `_`, so that it cannot run together with the `*` of its neighbours.
_DELIMITERS = (("strong", "**"), ("em", "_"), ("strike", "~~"))
MARKS = frozenset({"code", *(mark for mark, _ in _DELIMITERS)})

# `_` inside a word, a lone `&` and a `<` before a space mean nothing: they stay readable.
_SPECIAL = re.compile(
    r"[\\`*\[\]|~]|<(?=[A-Za-z/!?]|\Z)|&(?=#?\w*(?:;|\Z))|(?<![^\W_])_|_(?![^\W_])",
)
_AUTOLINK = re.compile(r"(?:https?://|mailto:)[^\s<>|\\\x00-\x20]+")
_UNSAFE_IN_URL = re.compile(r"[\x00-\x20\x7f<>|\\`]")
_ENTITY = re.compile(r"&(?=#?\w+;)")


@dataclass(frozen=True, slots=True)
class Run:
    """Some text with the same marks. `raw`: it is Markdown already (an image)."""

    text: str
    marks: frozenset[str] = frozenset()
    href: str = ""
    raw: bool = False


def render(runs: Iterable[Run], in_cell: bool) -> str:
    """The runs as Markdown. In a table's cell, code holding a `|` is written so that the cell survives."""
    parts: list[str] = []
    for href, group in groupby(_merged(runs), key=lambda run: run.href):
        members = list(group)
        text = _marked(members, in_cell)
        # `!` before a link would make it an image
        if href and parts and parts[-1].endswith("!"):
            parts[-1] = f"{parts[-1][:-1]}\\!"
        parts.append(_link(members, text, href) if href else text)
    return "".join(parts)


def escape(text: str) -> str:
    """Plain text, with a backslash before each character that Markdown would take for its own."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def image(alt: str, url: str) -> str:
    return f"![{escape(' '.join(alt.split()))}]({_destination(url)})"


def fence(text: str, least: int) -> str:
    """Backticks, more than stand together anywhere in the text, and `least` of them at least."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def code_span(text: str, in_cell: bool) -> str:
    """One line of code. Where a cell has no way to write it as code, it is plain text."""
    if not text.strip() or (in_cell and "\\|" in text):
        return escape(text)
    ticks = fence(text, 1)
    # Markdown takes one space off both ends, and a backtick would lengthen the fence
    pad = " " if "`" in (text[0], text[-1]) or text[0] == text[-1] == " " else ""
    return f"{ticks}{pad}{text.replace('|', chr(92) + '|') if in_cell else text}{pad}{ticks}"


def _merged(runs: Iterable[Run]) -> list[Run]:
    """The runs without the empty ones, those that are written alike joined.

    Two code spans cannot stand side by side (their backticks would meet): the second takes the marks of the first.
    """
    groups: list[tuple[Run, list[str]]] = []
    for run in map(_tidy, runs):
        if groups and _joins(groups[-1][0], run):
            groups[-1][1].append(run.text)
        elif run.text:
            groups.append((run, [run.text]))
    return [replace(run, text="".join(texts)) for run, texts in groups]


def _tidy(run: Run) -> Run:
    text = run.text.replace("\r\n", "\n").replace("\r", "\n")
    code = "code" in run.marks and not run.raw and text != "\n"
    return replace(
        run, text=text.replace("\n", " ") if code else text, marks=run.marks if code else run.marks - {"code"}
    )


def _joins(run: Run, following: Run) -> bool:
    if run.raw or following.raw or run.href != following.href:
        return False
    return run.marks == following.marks or "code" in run.marks & following.marks


def _marked(runs: Sequence[Run], in_cell: bool) -> str:
    used = frozenset().union(*(run.marks for run in runs))
    # beside these runs is nothing, or the brackets of a link
    return _spans(runs, [level for level in _DELIMITERS if level[0] in used], "", "", in_cell)


def _spans(runs: Sequence[Run], levels: Sequence[tuple[str, str]], before: str, after: str, in_cell: bool) -> str:
    """The runs inside the delimiters of the marks of `levels`; `before` and `after` are the characters beside."""
    if not levels:
        return "".join(_leaf(run, in_cell) for run in runs)
    (mark, delimiter), deeper = levels[0], levels[1:]
    groups = [list(group) for _, group in groupby(runs, key=lambda run: mark in run.marks)]
    lefts = [before, *(group[-1].text[-1] for group in groups[:-1])]
    rights = [*(group[0].text[0] for group in groups[1:]), after]
    parts = []
    for group, left, right in zip(groups, lefts, rights, strict=True):
        inner = _spans(group, deeper, left, right, in_cell)
        # a mark that cuts a word in two would not be read as one, and would hide the word from a search
        whole = (inner[0].isspace() or _separates(left)) and (inner[-1].isspace() or _separates(right))
        parts.append(_around(inner, delimiter, delimiter) if mark in group[0].marks and whole else inner)
    return "".join(parts)


def _leaf(run: Run, in_cell: bool) -> str:
    if run.raw:
        return run.text
    return code_span(run.text, in_cell) if "code" in run.marks else escape(run.text)


def _separates(character: str) -> bool:
    """Whether a word ends at this character; `""` is the edge of the text."""
    if not character or character.isspace() or (character.isascii() and not character.isalnum()):
        return True
    return unicodedata.category(character).startswith("P")


def _around(inner: str, opening: str, closing: str) -> str:
    """The delimiters close to the text: its spaces at both ends go outside, where Markdown wants them."""
    text = inner.strip()
    if not text:
        return inner
    start = inner.index(text[0])
    return f"{inner[:start]}{opening}{text}{closing}{inner[start + len(text) :]}"


def _link(runs: Sequence[Run], text: str, href: str) -> str:
    if len(runs) == 1 and runs[0].text.strip() == href and _AUTOLINK.fullmatch(href):
        return _around(runs[0].text, "<", ">")
    return _around(text, "[", f"]({_destination(href)})")


def _destination(url: str) -> str:
    """The address as it stands inside a link; between `<` and `>` when it holds parentheses."""
    safe = _UNSAFE_IN_URL.sub(lambda found: f"%{ord(found[0]):02X}", url.strip())
    safe = _ENTITY.sub(r"\\&", safe)
    return f"<{safe}>" if "(" in safe or ")" in safe else safe
