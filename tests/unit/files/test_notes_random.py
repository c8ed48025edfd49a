"""Random notes, well formed or not: no word is lost, none changes its place.

The words are Greek, so that they stand out from all that Markdown and addresses add.
"""

import json
import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcore.files.notes import to_markdown
from tests.unit.files.note_documents import (
    BREAK,
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

GREEK = "αβγδεζηθ"
SPECIAL = "12.)#>-+=*_`[]()!<>&;|~\\:/ \n\r\t'\"xé"
words = st.text(alphabet=GREEK + SPECIAL, max_size=10)
marks = st.sampled_from(["strong", "em", "code", "strike", "underline", "textColor", "sparkle"])
hrefs = st.sampled_from(["", "", "https://x.org/a_(b)", "h p<|`\\&amp;"])
texts = st.builds(lambda t, m, h: text(t, *m, href=h), words, st.lists(marks, max_size=3), hrefs)
inlines = st.lists(
    st.one_of(
        texts,
        texts,
        st.just(BREAK),
        st.builds(lambda t: node("status", text=t), words),
        st.builds(lambda t: node("mention", text=t), words),
        st.builds(lambda t: node("media", url="/u", alt=t), words),
        st.builds(lambda t: node("chip", t), words),
    ),
    max_size=5,
)
leaves = st.one_of(
    inlines.map(lambda content: p(*content)),
    st.builds(lambda content, level: node("heading", *content, level=level), inlines, st.integers(1, 6)),
    words.map(lambda code: node("codeBlock", code, language="python")),
    st.just(node("rule")),
)


def _containers(blocks: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    some = st.lists(blocks, max_size=3)
    items = st.lists(some.map(lambda content: item(*content)), max_size=3)
    spans = st.integers(1, 3)
    cells = st.builds(lambda c, w, h: cell(*c, colspan=w, rowspan=h), some, spans, spans)
    tasks = st.builds(lambda c, s: task(s, *c), inlines | some, st.sampled_from(["DONE", "TODO"]))
    return st.one_of(
        items.map(lambda content: bullets(*content)),
        st.builds(lambda content, order: numbers(order, *content), items, st.integers(1, 12)),
        st.lists(tasks, max_size=3).map(lambda content: node("taskList", *content)),
        some.map(lambda content: node("blockquote", *content)),
        some.map(lambda content: node("panel", *content, panelType="note")),
        some.map(lambda content: node("mystery", *content)),
        st.lists(st.lists(cells, max_size=3), max_size=3).map(lambda rows: table(*rows)),
    )


documents = st.lists(st.recursive(leaves, _containers, max_leaves=8), max_size=3).map(lambda c: node("doc", *c))
many = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def greek(written: str) -> str:
    return "".join(letter for letter in written if letter in GREEK)


def said(value: Json) -> str:
    """The words of a well-formed document, in their order."""
    attrs = value.get("attrs", {})
    own = [value.get("text", ""), attrs.get("text", ""), attrs.get("alt", "")]
    return "".join(own) + "".join(said(child) for child in value.get("content", []))


@many
@given(documents)
def test_random_documents_keep_their_words_in_order(document: Json) -> None:
    before = json.dumps(document)
    assert greek(to_markdown({"content": document})) == greek(said(document))
    assert json.dumps(document) == before


def without_spaces(written: str) -> str:
    return re.sub(r"\s", "", written)


@many
@given(st.lists(st.lists(words | st.just("\n"), max_size=4), max_size=4))
def test_every_character_of_plain_text_survives(paragraphs: list[list[str]]) -> None:
    """Undone as Markdown does it: `\\` and a line's end is a break, `\\` and punctuation is the punctuation."""
    written = markdown(*(p(*content) for content in paragraphs))
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"(?m)(?<!\\)((?:\\\\)*)\\$", r"\1", written))
    assert without_spaces(shown) == without_spaces("".join(map("".join, paragraphs)))


@many
@given(st.lists(st.tuples(words, words), min_size=1, max_size=5))
def test_a_table_keeps_its_shape(rows: list[tuple[str, str]]) -> None:
    """Whatever the cells hold, each line has the three bars that are the table's own."""
    code = [[cell(p(text(left, "code"))), cell(node("codeBlock", right))] for left, right in rows]
    for line in markdown(table(*(list(row) for row in rows), *code)).splitlines():
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


tags = st.text(alphabet="<>/!?-ab&;#\\`*_~ \n", max_size=8)
emphasis = st.lists(st.sampled_from(["strong", "em", "strike"]), max_size=2)


@many
@given(st.lists(st.builds(lambda t, m: text(t, *m), tags, emphasis), max_size=5))
def test_no_text_becomes_html(runs: list[Json]) -> None:
    """However a tag, or an entity, is cut in pieces, a backslash stands before what would begin it."""
    for written in (markdown(p(*runs)), markdown(table([cell(p(*runs))]))):
        shown = re.sub(r"\\[!-/:-@\[-`{-~]", ".", written).replace("<br>", "")
        assert not re.search(r"<[A-Za-z/!?]|&#?\w+;", shown)


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words)
KINDS = re.findall(
    r"\w+",
    """
    doc paragraph text heading bulletList orderedList listItem taskList taskItem decisionList decisionItem blockquote
    rule codeBlock hardBreak panel table tableRow tableHeader tableCell status date mediaSingle media image link x
""",
)
ATTRS = re.findall(r"\w+", "level order state language panelType text timestamp url src alt href colspan rowspan")


def _anything(values: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    kinds = st.sampled_from(KINDS) | values
    attrs = st.dictionaries(st.sampled_from(ATTRS), values, max_size=3) | values
    fields = {"type": kinds, "content": st.lists(values, max_size=4) | values, "attrs": attrs}
    mark = st.fixed_dictionaries({}, optional={"type": marks | values, "attrs": attrs})
    return st.one_of(
        st.lists(values, max_size=4),
        st.fixed_dictionaries({}, optional={**fields, "text": values, "marks": st.lists(mark | values) | values}),
    )


def heard(value: Json) -> str:
    """The words of anything: strings where nodes belong, and the `text` of whatever holds one."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(heard, value))
    if not isinstance(value, dict):
        return ""
    own = value.get("text")
    return (own if isinstance(own, str) else "") + heard(value.get("content"))


@many
@given(st.recursive(scalars, _anything, max_leaves=25))
def test_anything_at_all_is_taken(value: Json) -> None:
    left = iter(greek(to_markdown({"content": value, "schema": value})))
    assert all(letter in left for letter in greek(heard(value)))
