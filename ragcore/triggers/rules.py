"""Which changes an `@event` trigger is for: `type[:verbs[:values[:selector]]]`, several separated by spaces."""

import json
import re
from dataclasses import dataclass
from typing import Any

from ragcore.errors import Invalid
from ragcore.permissions import covers
from ragcore.store import Document

VERBS = frozenset({"CREATED", "UPDATED", "DELETED"})
CHANGED = "!="  # as a value: the field of the selector changed
_TYPE = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?:\.\*)?", re.ASCII)


@dataclass(frozen=True)
class Rule:
    """Empty values are all documents of the type. Without a selector values are ids, with one what stands there: a
    path of fields with dots. A type may end in `.*`, as in scopes."""

    type: str
    verbs: frozenset[str] = VERBS
    values: frozenset[str] = frozenset()
    selector: str = ""

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Raises Invalid."""
        if text.count(":") > 3:
            raise Invalid(f"{text!r} has more than a type, verbs, values and a selector")
        type_, verbs, values, selector = (text.split(":") + ["", "", ""])[:4]
        rule = cls(type_, _verbs(verbs), frozenset(filter(None, values.split(","))), selector)
        if not _TYPE.fullmatch(type_):
            raise Invalid(f"{type_!r} is not a type of documents (write it like io.cozy.files)")
        if selector and not all(selector.split(".")):
            raise Invalid(f"{selector!r} is not a path of fields (write it like metadata.datetime)")
        if CHANGED in rule.values and not selector:
            raise Invalid(f"{text!r} does not say which field has to change (write io.cozy.files:UPDATED:!=:name)")
        return rule

    def matches(self, verb: str, doctype: str, doc: Document, old_doc: Document | None = None) -> bool:
        """Whether a change is one that the rule is for. Of an old document that is not known everything may have
        changed: a job too many does no harm, one too few does."""
        if verb not in self.verbs or not covers(self.type, doctype):
            return False
        if not self.values:
            return True
        if not self.selector:
            return doc.get("_id") in self.values
        return self._is_found(doc) or self._is_found(old_doc or {}) or self._has_changed(verb, doc, old_doc)

    def _is_found(self, doc: Document) -> bool:
        return any(_text(value) in self.values for value in _items(_at(doc, self.selector)))

    def _has_changed(self, verb: str, doc: Document, old_doc: Document | None) -> bool:
        if CHANGED not in self.values:
            return False
        if old_doc is None and verb != "CREATED":
            return True
        before, now = (json.dumps(_at(each, self.selector), sort_keys=True) for each in (old_doc or {}, doc))
        return before != now  # as JSON: for Python, true is 1


def parse(text: str) -> tuple[Rule, ...]:
    """The rules of the arguments of an `@event`. Raises Invalid."""
    rules = tuple(Rule.parse(rule) for rule in text.split())
    if not rules:
        raise Invalid("an @event trigger needs a type of documents (like io.cozy.files)")
    return rules


def _verbs(text: str) -> frozenset[str]:
    named = frozenset(filter(None, text.split(",")))
    if not named or named == {"ALL"}:
        return VERBS
    if unknown := named - VERBS:
        raise Invalid(f"{', '.join(sorted(unknown))}: the verbs of an @event are CREATED, UPDATED and DELETED")
    return named


def _at(doc: Document, path: str) -> list[Any]:
    """What stands at a path: several values, where lists are on the way; `null` is nothing."""
    found: list[Any] = [doc]
    for name in path.split("."):
        found = [each[name] for each in _items(found) if isinstance(each, dict) and each.get(name) is not None]
    return found


def _items(values: list[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
