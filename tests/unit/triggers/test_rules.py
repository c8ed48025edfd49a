"""The rules of `@event` triggers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import Invalid
from ragcore.triggers.rules import VERBS, Rule, parse

FILES = "io.cozy.files"
PHOTO = {"_id": "f1", "mime": "image/jpg", "size": 12, "tags": [{"name": "sea"}, {"name": "sun"}], "trashed": False}

names = st.text("abcdefghij-_", min_size=1, max_size=6)
types = st.lists(names, min_size=1, max_size=3).map(".".join)
verbs = st.frozensets(st.sampled_from(sorted(VERBS)))
values = st.frozensets(st.text("abc/!=é.", min_size=1, max_size=5), max_size=3)
selectors = st.just("") | types


def text(type_: str, verbs: frozenset[str], values: frozenset[str], selector: str) -> str:
    return f"{type_}:{','.join(sorted(verbs))}:{','.join(sorted(values))}:{selector}"


@given(types, verbs, values, selectors)
def test_a_rule_is_read_as_it_is_written(type_: str, named: frozenset[str], values: frozenset[str], at: str) -> None:
    if "!=" in values and not at:
        with pytest.raises(Invalid):
            parse(text(type_, named, values, at))
    else:
        assert parse(text(type_, named, values, at)) == (Rule(type_, named or VERBS, values, at),)


@given(st.text(max_size=40))
def test_any_text_is_rules_or_invalid(text: str) -> None:
    try:
        assert len(parse(text)) == len(text.split())
    except Invalid:
        return


def test_several_rules_are_separated_by_spaces() -> None:
    first, second = parse("io.cozy.files:CREATED,DELETED   io.cozy.ai.chat.assistants ")
    assert first.verbs == {"CREATED", "DELETED"}
    assert second == Rule("io.cozy.ai.chat.assistants")


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "  ",
        ":CREATED",
        "io.cozy.files:POST",
        "io.cozy.files:created",
        "io.cozy.files:ALL,NONE",
        "io.cozy.files:CREATED:a:b:c",
        "io.cozy.files:UPDATED:!=",
        "io.cozy.files:UPDATED:a:b..c",
        "io.cozy.files:UPDATED:a:.b",
        "io..files",
        "*",
        "io.cozy.files,io.cozy.jobs",
        "io.cozy.files io.cozy.files:NO",
    ],
)
def test_what_is_no_rule(wrong: str) -> None:
    with pytest.raises(Invalid):
        parse(wrong)


@pytest.mark.parametrize(
    ("rule", "verb", "doctype", "expected"),
    [
        ("io.cozy.files", "CREATED", FILES, True),
        ("io.cozy.files", "DELETED", FILES, True),
        ("io.cozy.files", "CREATED", "io.cozy.files.versions", False),
        ("io.cozy.files.*", "CREATED", "io.cozy.files.versions", True),
        ("io.cozy.files.*", "CREATED", FILES, False),
        ("io.cozy.files:CREATED", "UPDATED", FILES, False),
        ("io.cozy.files:ALL", "UPDATED", FILES, True),
        ("io.cozy.files::f1", "UPDATED", FILES, True),
        ("io.cozy.files::f2,f1", "UPDATED", FILES, True),
        ("io.cozy.files::f2", "UPDATED", FILES, False),
        ("io.cozy.files:CREATED:image/jpg:mime", "CREATED", FILES, True),
        ("io.cozy.files:CREATED:image/png,image/jpg:mime", "CREATED", FILES, True),
        ("io.cozy.files:CREATED:image/png:mime", "CREATED", FILES, False),
        ("io.cozy.files:CREATED:f1:mime", "CREATED", FILES, False),
        ("io.cozy.files:CREATED:12:size", "CREATED", FILES, True),
        ("io.cozy.files:CREATED:false:trashed", "CREATED", FILES, True),
        ("io.cozy.files:CREATED:sun:tags.name", "CREATED", FILES, True),
        ("io.cozy.files:CREATED:rain:tags.name", "CREATED", FILES, False),
        ("io.cozy.files:CREATED:x:mime.deeper", "CREATED", FILES, False),
        ("io.cozy.files:CREATED:null:unknown", "CREATED", FILES, False),
    ],
)
def test_what_a_rule_is_for(rule: str, verb: str, doctype: str, expected: bool) -> None:
    assert Rule.parse(rule).matches(verb, doctype, PHOTO) is expected


def test_what_was_there_before_a_change_counts() -> None:
    rule = Rule.parse("io.cozy.files:DELETED:image/jpg:mime")
    assert rule.matches("DELETED", FILES, {"_id": "f1", "_deleted": True}, PHOTO)
    assert not rule.matches("DELETED", FILES, {"_id": "f1", "_deleted": True})


@pytest.mark.parametrize(
    ("verb", "doc", "old", "expected"),
    [
        ("UPDATED", {"a": {"b": 1}}, {"a": {"b": 2}}, True),
        ("UPDATED", {"a": {"b": 1}}, {"a": {"b": 1}, "c": 2}, False),
        ("UPDATED", {"a": {"b": 1}}, {"a": {"b": "1"}}, True),
        ("UPDATED", {"a": {"b": True}}, {"a": {"b": 1}}, True),
        ("UPDATED", {"a": {"b": ["x"]}}, {"a": {"b": "x"}}, True),
        ("UPDATED", {"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}]}, True),
        ("UPDATED", {"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"d": 2, "c": 1}}}, False),
        ("UPDATED", {}, {"a": {"b": 1}}, True),
        ("UPDATED", {}, {"a": None}, False),
        ("UPDATED", {"a": {"b": 1}}, None, True),
        ("CREATED", {"a": {"b": 1}}, None, True),
        ("CREATED", {"a": {}}, None, False),
        ("DELETED", {"_deleted": True}, {"a": {"b": 1}}, True),
        ("DELETED", {"_deleted": True}, {}, False),
    ],
)
def test_a_field_that_changed(verb: str, doc: dict, old: dict | None, expected: bool) -> None:
    assert Rule.parse("io.cozy.files::!=:a.b").matches(verb, FILES, doc, old) is expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "1", "true"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=6,
)


@given(json_values, json_values, st.sampled_from(sorted(VERBS)), st.sampled_from(["a", "a.b", "b.a.b"]))
def test_no_shape_of_a_document_is_too_much(new: object, old: object, verb: str, selector: str) -> None:
    doc, old_doc = {"_id": "x", "a": new}, {"_id": "x", "a": old}
    changed = Rule(FILES, values=frozenset({"!="}), selector=selector)
    assert not changed.matches(verb, FILES, doc, doc)
    assert changed.matches(verb, FILES, doc, old_doc) == changed.matches(verb, FILES, old_doc, doc)
    assert isinstance(Rule(FILES, values=frozenset({"a"}), selector=selector).matches(verb, FILES, doc, old_doc), bool)
