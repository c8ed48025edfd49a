"""Short ways to write the ProseMirror documents of the tests."""

from typing import Any

from ragcore.files.notes import to_markdown

Json = Any


def node(kind: str, *content: Json, **attrs: Json) -> Json:
    return {"type": kind, "attrs": attrs, "content": [as_text(child) for child in content]}


def as_text(child: Json) -> Json:
    return text(child) if isinstance(child, str) else child


def text(words: str, *marks: str, href: str = "") -> Json:
    link = [{"type": "link", "attrs": {"href": href}}] if href else []
    return {"type": "text", "text": words, "marks": [*({"type": mark} for mark in marks), *link]}


def p(*content: Json) -> Json:
    return node("paragraph", *content)


def item(*content: Json) -> Json:
    return node("listItem", *(p(child) if isinstance(child, str) else child for child in content))


def bullets(*items: Json) -> Json:
    return node("bulletList", *items)


def numbers(order: Json, *items: Json) -> Json:
    return node("orderedList", *items, order=order)


def task(state: str, *content: Json) -> Json:
    return node("taskItem", *content, state=state)


def cell(*content: Json, **attrs: Json) -> Json:
    return node("tableCell", *(p(child) if isinstance(child, str) else child for child in content), **attrs)


def table(*rows: list[Json]) -> Json:
    return node("table", *(node("tableRow", *(cell(c) if isinstance(c, str) else c for c in row)) for row in rows))


BREAK = {"type": "hardBreak"}
CODE = node("codeBlock", "a = 1\n\nb", language="python")


def markdown(*blocks: Json) -> str:
    return to_markdown({"content": node("doc", *blocks)})
