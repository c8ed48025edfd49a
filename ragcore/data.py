"""The documents of one doctype, as web clients read and write them (`contracts/cozy.md`, Requests: the data routes).

Design documents and local ones are not among them, however they are asked for. Of accounts, no secret is told.
"""

import re
from dataclasses import dataclass
from typing import Any

from ragcore.accounts import ACCOUNTS, asks_for_secrets, seal, without_secrets
from ragcore.documents import ASSISTANTS, BY_CHANGE, BY_DATE, BY_PARENT, CONVERSATIONS, FILES, MEMORIES, STATUSES
from ragcore.errors import Conflict, Invalid, NotFound, Retryable
from ragcore.files.tree import BY_PATH
from ragcore.instances import Instance
from ragcore.permissions import Forbidden
from ragcore.store import Document, Store
from ragcore.vault import Sealer

WRITABLE = frozenset({ASSISTANTS, CONVERSATIONS, STATUSES, ACCOUNTS})
READABLE = WRITABLE | {FILES, MEMORIES}
OWN_INDEXES = (BY_PARENT, BY_PATH, BY_CHANGE, BY_DATE)  # made and relied upon by ourselves

PAGE, LARGEST_PAGE = 100, 1000  # documents
FIND = ("selector", "limit", "skip", "bookmark", "sort", "fields", "use_index", "execution_stats")
INDEX = ("index", "ddoc", "name", "type")
_REVISION = re.compile(r"\d{1,18}-[0-9a-zA-Z]+", re.ASCII)
DESIGNS = {"startkey": '"_design/"', "endkey": '"_design0"'}


def check_readable(doctype: str) -> None:
    """Raises NotFound."""
    if doctype not in READABLE:
        raise NotFound(f"there are no documents of the type {doctype} here")


def check_writable(doctype: str) -> None:
    """Raises NotFound, Forbidden."""
    check_readable(doctype)
    if doctype not in WRITABLE:
        raise Forbidden(f"{doctype} are not written by this route")


def check_id(doc_id: str) -> None:
    """Raises NotFound for what is a route of the database, or a document that is none of the client's."""
    if doc_id.startswith("_") or {"", ".", ".."} & set(doc_id.split("/")):
        raise NotFound("missing")


@dataclass(frozen=True)
class Data:
    store: Store
    sealer: Sealer
    instance: Instance
    doctype: str

    def get(self, doc_id: str) -> Document:
        """Raises NotFound."""
        check_id(doc_id)
        return self._shown(self.store.get(self.instance, self.doctype, doc_id))

    def create(self, doc: Document) -> Document:
        """A new document, with an id of its own. Raises Invalid."""
        doc = _checked(doc)
        if "_id" in doc or "_rev" in doc:
            raise Invalid("a document that is posted has no _id and no _rev: PUT makes one with a chosen id", "/_id")
        return self._saved(doc)

    def put(self, doc_id: str, doc: Document) -> Document:
        """With a `_rev` a new version, without one a new document. Raises Invalid, Conflict."""
        check_id(doc_id)
        doc = _checked(doc)
        if doc.get("_id", doc_id) != doc_id:
            raise Invalid("the _id of the document is not the one of the URL", "/_id")
        return self._saved({**doc, "_id": doc_id})

    def delete(self, doc_id: str, rev: str) -> str:
        """The revision of the deletion. Raises NotFound, Conflict."""
        check_id(doc_id)
        _check_revision(rev)
        self.store.get(self.instance, self.doctype, doc_id)  # 404, not 409, for one that is not there
        deleted = self.store.save(self.instance, self.doctype, {"_id": doc_id, "_rev": rev, "_deleted": True})
        return str(deleted["_rev"])

    def find(self, request: Document) -> Document:
        """`docs`, `limit`, `next` (more to come) and `bookmark` of a Mango query. Raises Rejected."""
        limit = min(_count(request, "limit", PAGE), LARGEST_PAGE)
        asked = {name: request[name] for name in FIND if request.get(name) is not None} | {"limit": limit}
        self._check_query(asked)
        _check_texts(asked, "bookmark")
        found = self.store.query(self.instance, self.doctype, "_find", asked) or {"docs": [], "bookmark": "nil"}
        more = len(found["docs"]) == limit > 0 and self._has_more(asked, found)
        docs = [self._shown(doc) for doc in found["docs"] if not _is_hidden(doc.get("_id", ""))]
        return {**found, "docs": docs, "limit": limit, "next": more}

    def _has_more(self, asked: Document, found: Document) -> bool:
        behind = {**asked, "bookmark": found.get("bookmark"), "limit": 1, "skip": 0}
        return bool((self.store.query(self.instance, self.doctype, "_find", behind) or {}).get("docs"))

    def define_index(self, definition: Document) -> Document:
        """`result`, `id` and `name` of a Mango index, made or there already. Raises Rejected, Forbidden."""
        asked = {name: definition[name] for name in INDEX if definition.get(name) is not None}
        self._check_query(asked)
        _check_texts(asked, "ddoc", "name")
        design = asked.get("ddoc", "")
        if design.removeprefix("_design/") in OWN_INDEXES:
            raise Forbidden(f"the index {design} is not the client's")
        try:
            return self.store.define_index(self.instance, self.doctype, asked)
        except (Retryable, Conflict):  # of two at once, CouchDB fails one; the second time it is there
            return self.store.define_index(self.instance, self.doctype, asked)

    def normal_docs(self, skip: int, limit: int, bookmark: str) -> Document:
        """A page of all documents: `rows`, `total_rows`, `bookmark`."""
        limit = min(limit, LARGEST_PAGE)
        asked: Document = {"selector": {"_id": {"$gte": None}}, "skip": skip, "limit": limit}
        if bookmark:
            asked["bookmark"] = bookmark
        found = self.store.query(self.instance, self.doctype, "_find", asked) or {"docs": []}
        rows = [self._shown(doc) for doc in found["docs"] if not _is_hidden(doc["_id"])]
        return {"rows": rows, "total_rows": self.count(), "bookmark": found.get("bookmark", "nil")}

    def all_docs(self, options: dict[str, str]) -> Document:
        """A range of all documents in CouchDB's own shape; `options` are its parameters, their values JSON."""
        designs, skip = self._designs(), int(options.get("skip", 0))
        asked = {name: value for name, value in options.items() if name != "skip"}
        if "limit" in options:  # it counts the design documents too, which may stand anywhere
            asked["limit"] = str(skip + int(options["limit"]) + designs)
        found = self.store.query(self.instance, self.doctype, "_all_docs", None, **asked) or _nothing()
        rows = [self._row(row) for row in found["rows"] if not _is_hidden(row["id"])]
        end = skip + int(options["limit"]) if "limit" in options else None
        offset = (found.get("offset") or 0) + skip
        return {"total_rows": found["total_rows"] - designs, "offset": offset, "rows": rows[skip:end]}

    def docs_of(self, keys: list[str], include_docs: bool) -> Document:
        """The rows of some ids, in their order; what is not to be reached is not found."""
        asked = [key for key in keys if not _is_hidden(key)]
        params = {"include_docs": "true"} if include_docs else {}
        found = self.store.query(self.instance, self.doctype, "_all_docs", {"keys": asked}, **params) or _nothing()
        rows = {row["key"]: self._row(row) for row in found["rows"]}
        total = max(found["total_rows"] - self._designs(), 0)
        return {
            "total_rows": total,
            "offset": 0,
            "rows": [rows.get(key, {"key": key, "error": "not_found"}) for key in keys],
        }

    def count(self) -> int:
        """Of all documents."""
        return self._total() - self._designs()

    def _designs(self) -> int:
        found = self.store.query(self.instance, self.doctype, "_all_docs", None, **DESIGNS) or _nothing()
        return len(found["rows"])

    def _total(self) -> int:
        found = self.store.query(self.instance, self.doctype, "_all_docs", None, limit="0") or _nothing()
        return int(found["total_rows"])

    def _row(self, row: Document) -> Document:
        return row | {"doc": self._shown(row["doc"])} if row.get("doc") else row

    def _saved(self, doc: Document) -> Document:
        if self.doctype == ACCOUNTS:
            stored = self.store.get_or_new(self.instance, ACCOUNTS, doc["_id"]) if "_rev" in doc else {}
            doc = seal(doc, stored, self.sealer)
        return self._shown(self.store.save(self.instance, self.doctype, doc))

    def _shown(self, doc: Document) -> Document:
        shown: Document = without_secrets(doc) if self.doctype == ACCOUNTS else doc
        return shown

    def _check_query(self, query: Document) -> None:
        if self.doctype == ACCOUNTS and asks_for_secrets(query):
            raise Forbidden("the secrets of accounts cannot be asked for")


def _checked(doc: Document) -> Document:
    """A document that was sent, without `_type`, nor an `_id` or a `_rev` that is empty.

    Raises Invalid for other special members (`_deleted`, ...).
    """
    for name in doc:
        if name.startswith("_") and name not in ("_id", "_rev", "_type"):
            raise Invalid(f"{name} is no field of a document", f"/{name}")
    empty = {"_type", *(name for name in ("_id", "_rev") if doc.get(name) in (None, ""))}
    doc = {name: value for name, value in doc.items() if name not in empty}
    if "_rev" in doc:
        _check_revision(doc["_rev"])
    return doc


def _check_revision(rev: Any) -> None:
    if not isinstance(rev, str) or not _REVISION.fullmatch(rev):
        raise Invalid(f"{rev!r} is no revision of a document", "/_rev")


def _check_texts(asked: Document, *names: str) -> None:
    for name in names:
        if not isinstance(asked.get(name, ""), str):
            raise Invalid(f"{name} must be a text", f"/{name}")


def _count(request: Document, name: str, default: int) -> int:
    value: Any = request.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Invalid(f"{name} must be a whole number", f"/{name}")
    return value


def _is_hidden(doc_id: str) -> bool:
    return doc_id.startswith("_")


def _nothing() -> Document:
    return {"total_rows": 0, "offset": 0, "rows": []}
