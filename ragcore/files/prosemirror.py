"""Reading a ProseMirror document that nobody has checked: whatever its JSON is, it gives nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """One node. `children` is as it was written: each of them is read when its turn comes."""

    type: str
    text: str
    attrs: Mapping[str, object]
    marks: Sequence[object]
    children: Sequence[object]

    def string(self, name: str) -> str:
        """The attribute, `""` when it is no string."""
        value = self.attrs.get(name)
        return value if isinstance(value, str) else ""

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        """The attribute, moved between `low` and `high`; `default` when it is no integer."""
        value = self.attrs.get(name)
        return min(max(value, low), high) if isinstance(value, int) and not isinstance(value, bool) else default

    def mark_attrs(self) -> dict[str, Mapping[str, object]]:
        """The attributes of each mark, by its type; of two marks of one type the first counts."""
        found: dict[str, Mapping[str, object]] = {}
        for mark in self.marks:
            if isinstance(mark, Mapping) and isinstance(name := mark.get("type"), str):
                found.setdefault(name, _mapping(mark.get("attrs")))
        return found


def read(value: object) -> Node:
    """A node out of any JSON value: a string is its own text, a list holds nodes, the rest holds nothing."""
    if isinstance(value, str):
        return Node("text", value, {}, (), ())
    if not isinstance(value, Mapping):
        return Node("", "", {}, (), value if isinstance(value, list) else ())
    kind, text = value.get("type"), value.get("text")
    return Node(
        kind if isinstance(kind, str) else "",
        text if isinstance(text, str) else "",
        _mapping(value.get("attrs")),
        marks if isinstance(marks := value.get("marks"), list) else (),
        _children(value.get("content")),
    )


def walk(value: object) -> Iterator[tuple[bool, Node]]:
    """Each node twice, in the order of the document: with True before what it holds, with False after it.

    It keeps its own stack, so a document may be nested as deep as it likes.
    """
    todo: list[tuple[bool, object]] = [(True, value)]
    while todo:
        opening, item = todo.pop()
        node = item if isinstance(item, Node) else read(item)
        yield opening, node
        if opening:
            todo.append((False, node))
            todo.extend((True, child) for child in reversed(node.children))


def _children(content: object) -> Sequence[object]:
    return content if isinstance(content, list) else [content] if isinstance(content, str | Mapping) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
