"""Notes as Markdown: a table of examples."""

from collections.abc import Callable

import pytest

from ragcore.files.notes import NOTE_MIME, indexed_name, is_note, iso_date, to_markdown
from tests.unit.files.note_documents import (
    BREAK,
    CODE,
    Json,
    bullets,
    cell,
    item,
    markdown,
    node,
    numbers,
    p,
    table,
    task,
    text,
)

INLINE = {
    "plain": ([text("Hello, world! It's 5 < 6 & R&D.")], "Hello, world! It's 5 < 6 & R&D."),
    "strong": ([text("a", "strong")], "**a**"),
    "em": ([text("a", "em")], "_a_"),
    "strike": ([text("a", "strike")], "~~a~~"),
    "all three": ([text("a", "strike", "em", "strong")], "**_~~a~~_**"),
    "marks without Markdown": ([text("a", "underline"), text("b", "textColor"), text("c", "subsup")], "abc"),
    "an unknown mark": ([text("a", "sparkle", "em")], "_a_"),
    "spaces go outside": (["x", text(" bold ", "strong"), "y"], "x **bold** y"),
    "only spaces": (["x", text("  ", "strong"), "y"], "x  y"),
    "one mark inside another": (
        [text("a ", "em"), text("b", "em", "strong"), text(" c", "em")],
        "_a_ **_b_** _c_",
    ),
    "inside a word": (["un", text("believ", "strong"), "able"], "unbelievable"),
    "beside punctuation": (["(", text("a:", "strong"), ") b"], "(**a:**) b"),
    "a mark over two lines": ([text("a", "strong"), BREAK, text("b", "strong")], "**a**\\\n**b**"),
    "one mark over a line feed": ([text("a\nb", "em")], "_a\\\nb_"),
    "Markdown's own": (["*a* _b_ `c` [d](e) ~f~ |g| \\"], r"\*a\* \_b\_ \`c\` \[d\](e) \~f\~ \|g\| \\"),
    "names stay as they are": (["snake_case_name x.y-z"], "snake_case_name x.y-z"),
    "HTML": (["<b>x</b> <!-- -->"], "\\<b>x\\</b> \\<!-- -->"),
    "an entity": (["&amp; &#1; &x"], "\\&amp; \\&#1; \\&x"),
    "an entity cut in two": (["&a", text("mp;", "strong"), "x"], "\\&amp;x"),
    "like a heading": (["# a"], "\\# a"),
    "a hash": (["#a"], "#a"),
    "like a quote": (["> a"], "\\> a"),
    "like an item": (
        ["- a", BREAK, "+ b", BREAK, "12. c", BREAK, "3) d"],
        "\\- a\\\n\\+ b\\\n12\\. c\\\n3\\) d",
    ),
    "not like an item": (["-5 and 1.5", BREAK, "3.d 4. e"], "-5 and 1.5\\\n3.d 4. e"),
    "like a rule": (["---", BREAK, "==="], "\\---\\\n\\==="),
    "spaces at the ends of lines": (["    a  ", BREAK, "  b   "], "a\\\nb"),
    "breaks at the ends": ([BREAK, "a", BREAK, BREAK, "b", BREAK], "a\\\nb"),
    "a link": ([text("site", href="https://x.org/a?b=1&c=2")], "[site](https://x.org/a?b=1&c=2)"),
    "a link with parentheses": (
        [text("A (b)", href="https://x.org/A_(b)")],
        "[A (b)](<https://x.org/A_(b)>)",
    ),
    "a link with a bracket": ([text("a]b", "strong", href="u")], "[**a\\]b**](u)"),
    "a link with spaces": ([text(" a ", href="u v|<w>")], "[a](u%20v%7C%3Cw%3E)"),
    "a link with an entity": ([text("a", href="?x&copy;")], "[a](?x\\&copy;)"),
    "a link of two runs": ([text("a ", href="u"), text("b", "em", href="u")], "[a _b_](u)"),
    "a link to its own text": (
        [text("https://x.org/a_b_", href="https://x.org/a_b_")],
        "<https://x.org/a_b_>",
    ),
    "a link after an exclamation": (["wow!", text("a", href="u")], "wow\\![a](u)"),
    "code": ([text("a*b", "code"), "!"], "`a*b`!"),
    "code holding a backtick": ([text("a`b", "code")], "``a`b``"),
    "code made of backticks": ([text("``", "code")], "``` `` ```"),
    "code between spaces": ([text("x"), text(" a ", "code")], "x`  a  `"),
    "code of several lines": ([text("a\nb", "code")], "`a b`"),
    "two codes": ([text("a", "code"), text("b", "code", "strong")], "`ab`"),
    "code in bold": ([text("a", "code", "strong")], "**`a`**"),
    "a date": (["on ", node("date", timestamp="1565827200000")], "on 2019-08-15"),
    "a status": (["is ", node("status", text="IN *PROGRESS*", color="blue")], "is IN \\*PROGRESS\\*"),
    "a mention": (["to ", node("mention", id="1", text="@Zoé")], "to @Zoé"),
    "an unknown inline node": (["a ", node("chip", "b"), " c"], "a b c"),
    "an image": ([node("image", src="u(1)", alt="a ]cat")], "![a \\]cat](<u(1)>)"),
    "an image in its address": ([node("media", url="data:image/png;base64,AAAA", alt="a cat")], "a cat"),
    "halves of a character": (
        [text("\ud83d"), text("\ude00", "underline"), "\udc00."],
        "\N{GRINNING FACE}\ufffd.",
    ),
}


@pytest.mark.parametrize(("content", "expected"), INLINE.values(), ids=INLINE)
def test_text_inside_a_paragraph(content: list[Json], expected: str) -> None:
    assert markdown(p(*content)) == f"{expected}\n"


BLOCKS: dict[str, tuple[list[Json], str]] = {
    "nothing": ([], ""),
    "empty blocks": ([p(), p("  "), p(BREAK), bullets(item()), table([""]), node("blockquote", p())], ""),
    "paragraphs": ([p("a"), p(), p("b")], "a\n\nb"),
    "headings": ([node("heading", "a", BREAK, "b", level=2), p("c")], "## a b\n\nc"),
    "heading ending in hashes": ([node("heading", "C ##", level=1)], "# C \\##"),
    "heading too low": ([node("heading", "a", level=9)], "###### a"),
    "heading without level": ([node("heading", "a", level="2")], "# a"),
    "rule": ([p("a"), node("rule"), p("b")], "a\n\n***\n\nb"),
    "bullets": ([p("x"), bullets(item("a"), item("b")), p("y")], "x\n\n- a\n- b\n\ny"),
    "lists one after the other": ([bullets(item("a")), numbers(5, item("b"))], "- a\n\n5. b"),
    "nested lists": (
        [bullets(item("a", numbers(1, item("b", bullets(item("c"))), item("d"))), item("e"))],
        "- a\n  1. b\n     - c\n  2. d\n- e",
    ),
    "nested, from another number": ([bullets(item("a", numbers(7, item("b"))))], "- a\n\n  7. b"),
    "a list in an item without text": ([bullets(item(bullets(item("a"), item("b"))))], "- - a\n  - b"),
    "numbers from nine": ([numbers(9, item("a", "b"), item("c", "d"))], "9. a\n\n   b\n10. c\n\n    d"),
    "numbers from nonsense": ([numbers("3", item("a")), numbers(10**12, item("b"))], "1. a\n\n999999999. b"),
    "an item of several blocks": (
        [bullets(item("a", CODE, node("blockquote", p("q"))), item(CODE))],
        "- a\n\n  ```python\n  a = 1\n\n  b\n  ```\n\n  > q\n- ```python\n  a = 1\n\n  b\n  ```",
    ),
    "a rule in an item": ([bullets(item(node("rule"), p("a")))], "- ***\n\n  a"),
    "tasks": ([node("taskList", task("DONE", "a"), task("TODO", "b"))], "- [x] a\n- [ ] b"),
    "tasks below tasks": (
        [node("taskList", task("TODO", "a"), node("taskList", task("DONE", "b")), task("TODO", "c"))],
        "- [ ] a\n  - [x] b\n- [ ] c",
    ),
    "blocks in a task": (
        [node("taskList", task("DONE", p("a"), CODE))],
        "- [x] a\n\n  ```python\n  a = 1\n\n  b\n  ```",
    ),
    "a task that begins with code": (
        [node("taskList", task("DONE", node("codeBlock", "a")))],
        "- [x]\n\n  ```\n  a\n  ```",
    ),
    "decisions": ([node("decisionList", node("decisionItem", "a"), node("decisionItem", "b"))], "- a\n- b"),
    "quote": ([node("blockquote", p("a", BREAK, "b"), bullets(item("c")))], "> a\\\n> b\n>\n> - c"),
    "quotes": ([node("blockquote", p("a")), node("blockquote", p("b"))], "> a\n\n> b"),
    "panel": ([node("panel", p("a"), panelType="warning")], "> **Warning**\n>\n> a"),
    "panel of another kind": ([node("panel", p("a"), panelType=["x"])], "> a"),
    "code": ([CODE], "```python\na = 1\n\nb\n```"),
    "code holding a fence": (
        [node("codeBlock", "```\nx\n````", language="a b`")],
        "`````\n```\nx\n````\n`````",
    ),
    "code with Markdown in it": (
        [node("codeBlock", "*a* <b>\r\n  | c", BREAK, "d")],
        "```\n*a* <b>\n  | c\nd\n```",
    ),
    "code holding paragraphs": ([node("codeBlock", p("a"), p("b")), p("c")], "```\na\nb\n```\n\nc"),
    "media": (
        [node("mediaSingle", node("media", url="/a", alt="b"), node("caption", "c"))],
        "![b](/a)\n\nc",
    ),
    "unknown blocks": ([node("layout", node("column", p("a"), "b"), node("column", "c"))], "a\n\nb\n\nc"),
    "text at the top": (["a", text("b", "em"), p("c"), "d"], "ab\n\nc\n\nd"),
    "a block in a paragraph": ([p("a", bullets(item("b")), "c")], "a\n\n- b\n\nc"),
    "an item without a list": ([item("a"), p("b")], "- a\n\nb"),
    "cells without a table": ([node("tableRow", cell("a"), cell("b"))], "a\n\nb"),
}


@pytest.mark.parametrize(("blocks", "expected"), BLOCKS.values(), ids=BLOCKS)
def test_blocks(blocks: list[Json], expected: str) -> None:
    assert markdown(*blocks) == (f"{expected}\n" if expected else "")


TABLES: dict[str, tuple[list[list[Json]], list[str]]] = {
    "plain": ([["a", "b"], ["c", "d"]], ["a | b", "--- | ---", "c | d"]),
    "a bar": ([["a|b", cell(p(text("c|d", "code")))]], ["a\\|b | `c\\|d`", "--- | ---"]),
    "a bar after a backslash": ([[cell(p(text("c\\|d", "code")))]], ["c\\\\\\|d", "---"]),
    "a bar in an address": ([[cell(p(text("a", href="u|v")))]], ["[a](u%7Cv)", "---"]),
    "breaks": ([[cell(p("a", BREAK, "b\nc"))]], ["a b c", "---"]),
    "columns merged": (
        [[cell("a", colspan=2), "b"], ["c", "d", "e"]],
        ["a |  | b", "--- | --- | ---", "c | d | e"],
    ),
    "rows merged": (
        [[cell("a", rowspan=3), "b"], ["c"], ["d"], ["e", "f"]],
        ["a | b", "--- | ---", " | c", " | d", "e | f"],
    ),
    "both merged": (
        [["a", cell("b", colspan=2, rowspan=2)], ["c"], ["d", "e", "f"]],
        ["a | b | ", "--- | --- | ---", "c |  | ", "d | e | f"],
    ),
    "short rows": ([["a"], ["b", "c"]], ["a | ", "--- | ---", "b | c"]),
    "rows without text": ([[""], ["a"], [], ["b"]], ["a", "---", "b"]),
    "wrong spans": ([[cell("a", colspan="2", rowspan=None), cell("b", colspan=-1)]], ["a | b", "--- | ---"]),
    "blocks": (
        [[cell(node("heading", "h", level=1), "a", node("blockquote", p("q")), node("rule"), CODE)]],
        ["h a q `a = 1  b`", "---"],
    ),
    "lists": (
        [[cell(bullets(item("a", numbers(2, item("b"))), item()), node("taskList", task("DONE", "c")), "d")]],
        ["- a 2. b - [x] c d", "---"],
    ),
    "a table": ([[cell(table(["a", "b"], ["c"])), "d"]], ["a b c | d", "--- | ---"]),
}


@pytest.mark.parametrize(("rows", "expected"), TABLES.values(), ids=TABLES)
def test_tables(rows: list[list[Json]], expected: list[str]) -> None:
    assert markdown(table(*rows)) == "".join(f"| {line} |\n" for line in expected)


def test_a_table_in_an_item_and_text_without_cells() -> None:
    loose = node("table", "a", node("tableRow", "b", cell("c"), "d"), p("e"))
    assert markdown(bullets(item("x", loose), item("y"))) == (
        "- x\n\n  | a |  |  |\n  | --- | --- | --- |\n  | b | c | d e |\n- y\n"
    )


def test_spans_that_claim_the_world_cost_nothing() -> None:
    rows = [[cell(str(i), colspan=10**9, rowspan=10**9)] * 3 for i in range(50)]
    assert len(markdown(table(*rows))) < 100_000


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, ""),
        ({"content": None}, ""),
        ({"content": {}}, ""),
        ({"content": 4}, ""),
        ({"content": "a *b*"}, "a \\*b\\*\n"),
        ({"content": [p("a"), None, 3, True, ["b"]]}, "a\n\nb\n"),
        ({"content": {"type": "doc", "content": p("a")}}, "a\n"),
        ({"content": {"type": "doc", "content": {"type": 5, "content": ["a"]}}}, "a\n"),
        ({"content": {"type": "paragraph", "text": "a", "content": "b"}}, "ab\n"),
        ({"content": {"type": "rule", "text": "a"}}, "***\n\na\n"),
        ({"content": {"type": "hardBreak", "text": "a"}}, "a\n"),
        (
            {"content": {"text": "a", "marks": ["em", None, {"type": []}, {"type": "link", "attrs": 3}]}},
            "a\n",
        ),
        ({"content": {"text": ["a"], "attrs": [], "marks": {}}}, ""),
        ({"content": node("media", url=3, alt=None)}, ""),
        ({"content": node("date", timestamp=None)}, ""),
        ({"content": p("a"), "schema": "not one"}, "a\n"),
    ],
)
def test_what_is_no_document(metadata: dict[str, Json], expected: str) -> None:
    assert to_markdown(metadata) == expected


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("0", "1970-01-01"),
        (86_400_000, "1970-01-02"),
        ("-1", "1969-12-31"),
        (" 1565827200000 ", "2019-08-15"),
        ("253402300799999", "9999-12-31"),
        ("253402300800000", "253402300800000"),
        ("-99999999999999", "-99999999999999"),
        ("9" * 5000, "9" * 5000),
        ("tomorrow", "tomorrow"),
        ("²", "²"),
        ("", ""),
        (True, ""),
        (None, ""),
        (float("nan"), ""),
    ],
)
def test_dates(timestamp: Json, expected: str) -> None:
    assert iso_date(timestamp) == expected


def test_which_files_are_notes() -> None:
    assert is_note(NOTE_MIME, "Ideas.cozy-note")
    assert is_note(NOTE_MIME.upper(), "Ideas.COZY-NOTE")
    assert not is_note("text/markdown", "Ideas.cozy-note")
    assert not is_note(NOTE_MIME, "Ideas.md")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.cozy-note", "a.md"),
        ("a.b.docs-note", "a.b.md"),
        ("a.Cozy-Note", "a.md"),
        ("a.cozy-note.txt", "a.cozy-note.txt"),
        ("a.pdf", "a.pdf"),
        ("cozy-note", "cozy-note"),
        ("", ""),
    ],
)
def test_the_name_that_is_indexed(name: str, expected: str) -> None:
    assert indexed_name(name) == expected


NESTS: dict[str, Callable[[Json], Json]] = {
    "lists": lambda inner: bullets(item("ω", inner)),
    "tasks": lambda inner: node("taskList", task("TODO", "ω"), inner),
    "quotes": lambda inner: node("blockquote", p("ω"), inner),
    "panels": lambda inner: node("panel", p("ω"), inner, panelType="info"),
    "tables": lambda inner: table(["ω", cell(inner)]),
    "lists in a cell": lambda inner: table([cell(bullets(item("ω", inner)))]),
    "paragraphs": lambda inner: p("ω", inner),
    "codes": lambda inner: node("codeBlock", "ω", inner),
    "strangers": lambda inner: node("stranger", "ω", inner),
    "arrays": lambda inner: ["ω", inner],
}


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
def test_ten_thousand_levels(nest: Callable[[Json], Json]) -> None:
    document: Json = p("end")
    for _ in range(10_000):
        document = nest(document)
    written = to_markdown({"content": document})
    assert written.count("ω") == 10_000
    # one level does not make the lines of all those inside longer
    assert len(written) < 10_000 * 200
    assert written.index("end") > written.rindex("ω")
