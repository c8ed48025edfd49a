"""The store: documents of an owner (an instance, or what is global) by doctype.

A database is made when its first document is written; reading a missing one is "no document". Every write
of an instance's document is announced: a realtime event of its doctype (`contracts/cozy.md`, Databases); by the caller
where it says `tell=False`.
"""

import random
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ragcore.errors import Conflict, NotFound, RagcoreError, Retryable
from ragcore.events import Event
from ragcore.store.couch import BadRequest, Database, NoDatabase, Server, translate
from ragcore.together import Together

Document = dict[str, Any]
T = TypeVar("T")

PAGE = 1000


class Owner(Protocol):
    """Whose documents: the prefix of the databases, and the domain that the events go to."""

    @property
    def prefix(self) -> str: ...

    @property
    def domain(self) -> str | None: ...


@dataclass(frozen=True)
class _Global:
    prefix: str = "global"
    domain: None = None


GLOBAL = _Global()


class UnknownSequence(RagcoreError):
    """A sequence of a database that was made again, or restored: its feed is to be read from the beginning."""


@dataclass(frozen=True)
class Changes:
    """A page of the changes feed: the documents in the feed's order, the sequence to go on from, and whether
    more is waiting."""

    documents: list[Document]
    last_seq: Any
    more: bool


class Store:
    """`announce` is told of each write of an instance's document, `made` the name of each database that is made."""

    def __init__(
        self, url: str, announce: Callable[[str, Event], None], made: Callable[[str], None] = lambda name: None
    ) -> None:
        self.server = Server(url)
        self._announce = announce
        self._made = made
        self._together = Together(self._save_together)

    def get(self, owner: Owner, doctype: str, doc_id: str) -> Document:
        """Raises NotFound, for a route of the database (`_all_docs`) too."""
        if doc_id.startswith("_") and not doc_id.startswith(("_local/", "_design/")):
            raise NotFound(f"{doc_id} is no id")
        return translate(lambda: self._database(owner, doctype).get(doc_id))

    def save(self, owner: Owner, doctype: str, doc: Document, tell: bool = True) -> Document:
        """Creates (an id is made when there is none) or updates: the document with its new `_rev`.

        Raises Conflict when its `_rev` is not the current one.
        """
        doc = {"_id": uuid.uuid4().hex, **doc}
        saved = self._writing(owner, doctype, lambda db: db.save(doc))
        if tell:
            self._tell(owner, doctype, doc, saved["_rev"])
        return saved

    def save_together(self, owner: Owner, doctype: str, doc: Document) -> "Future[Document]":
        """As `save`, while the caller goes on, and in one request with what others save there at the same time."""
        return self._together.add(database_name(owner.prefix, doctype), (owner, doctype, doc))

    def _save_together(self, saves: list[tuple[Owner, str, Document]]) -> list[Document | Exception]:
        owner, doctype, doc = saves[0]
        if len(saves) == 1:
            return [self.save(owner, doctype, doc)]
        written = self.save_each(owner, doctype, [doc for _, _, doc in saves])
        return [Conflict("the document was not written") if doc is None else doc for doc in written]

    def update(
        self,
        owner: Owner,
        doctype: str,
        doc_id: str,
        change: Callable[[Document], Document | None],
        attempts: int = 3,
        tell: bool = True,
    ) -> Document | None:
        """Saves what `change` makes of a fresh read, in some attempts at most; `{"_id"}` when there is none.

        `change` gives None to leave the document as it is. Raises Conflict after the last attempt.
        """
        for attempt in range(1, attempts + 1):
            doc = change(self.get_or_new(owner, doctype, doc_id))
            if doc is None:
                return None
            try:
                return self.save(owner, doctype, doc, tell)
            except Conflict:
                if attempt == attempts:
                    raise
                time.sleep(random.uniform(0, 0.02) * attempt)  # noqa: S311  (who wrote at once should not do so again)
        raise AssertionError("unreachable")

    def get_or_new(self, owner: Owner, doctype: str, doc_id: str) -> Document:
        try:
            return self.get(owner, doctype, doc_id)
        except NotFound:
            return {"_id": doc_id}

    def save_all(self, owner: Owner, doctype: str, docs: list[Document]) -> list[Document]:
        """Writes many documents in one request. Raises Conflict when one of them was not written."""
        written = self.save_each(owner, doctype, docs)
        if None in written:
            raise Conflict("some documents were not written")
        return [doc for doc in written if doc is not None]

    def save_each(self, owner: Owner, doctype: str, docs: list[Document]) -> list[Document | None]:
        """Writes many documents in one request: in the same order, each as it was saved, or None for a conflict."""
        docs = [{"_id": uuid.uuid4().hex, **doc} for doc in docs]
        rows = self._writing(owner, doctype, lambda db: db.post("_bulk_docs", {"docs": docs})) if docs else []
        saved = [None if "error" in row else {**doc, "_rev": row["rev"]} for doc, row in zip(docs, rows, strict=True)]
        for doc, row in zip(docs, rows, strict=True):
            if "error" not in row:
                self._tell(owner, doctype, doc, row["rev"])
        return saved

    def delete(self, owner: Owner, doctype: str, doc: Document) -> None:
        """Raises Conflict when its `_rev` is not the current one, NotFound when it is gone."""
        rev = translate(lambda: self._database(owner, doctype).remove(doc))
        self._tell(owner, doctype, {"_id": doc["_id"], "_deleted": True}, rev)

    def save_local(self, owner: Owner, doctype: str, name: str, doc: Document) -> Document:
        """Writes `_local/<name>`, which no feed shows and no event announces."""
        local = {**doc, "_id": f"_local/{name}"}
        return self._writing(owner, doctype, lambda db: db.save(local))

    def delete_local(self, owner: Owner, doctype: str, name: str) -> None:
        """Raises NotFound when there is none."""
        local = self.get(owner, doctype, f"_local/{name}")
        translate(lambda: self._database(owner, doctype).delete(local))

    def get_many(self, owner: Owner, doctype: str, ids: Iterable[str]) -> dict[str, Document]:
        """The documents of these ids that exist, in one request."""
        keys = list(dict.fromkeys(ids))
        if not keys:
            return {}
        rows: list[Document] = self._reading(
            owner, doctype, lambda db: db.post("_all_docs", {"keys": keys}, include_docs="true")["rows"]
        )
        if any(row.get("error", "not_found") != "not_found" for row in rows):
            raise Retryable("the document database could not read all documents")
        return {row["key"]: row["doc"] for row in rows if row.get("doc")}

    def all(self, owner: Owner, doctype: str, since: str = "", before: str = "") -> Iterator[Document]:
        """Every document, design documents aside, a page at a time; those with ids from `since` on, and `before`."""
        for rows in self._pages(owner, doctype, since, before, include_docs=True):
            if not all(row.get("doc") for row in rows):
                raise Retryable("the document database could not read all documents")
            yield from (row["doc"] for row in rows if not row["id"].startswith("_design/"))

    def ids(self, owner: Owner, doctype: str, since: str = "", before: str = "") -> Iterator[list[str]]:
        """The ids of all documents, or of those from `since` on and `before`, a page at a time."""
        for rows in self._pages(owner, doctype, since, before, include_docs=False):
            yield [row["id"] for row in rows]

    def _pages(
        self, owner: Owner, doctype: str, since: str, before: str, include_docs: bool
    ) -> Iterator[list[Document]]:
        params: dict[str, Any] = {"limit": PAGE, "include_docs": str(include_docs).lower()}
        params |= {"endkey": before, "inclusive_end": "false"} if before else {}
        while True:
            rows = self._rows(owner, doctype, params | ({"startkey": since} if since else {}))
            yield rows
            if len(rows) < PAGE:
                return
            since = rows[-1]["id"] + "\0"

    def _rows(self, owner: Owner, doctype: str, params: dict[str, Any]) -> list[Document]:
        return self._reading(owner, doctype, lambda db: list(db.all(as_list=True, **params)))

    def find(
        self,
        owner: Owner,
        doctype: str,
        selector: Document,
        *,
        index: str | None = None,
        limit: int = PAGE,
        sort: Sequence[Document] = (),
    ) -> list[Document]:
        """The first `limit` documents of a Mango selector, of the index's design document if one is named.

        A `sort` (`[{"queued_at": "desc"}]`) needs an index of its fields.
        """
        body: Document = {"selector": selector, "limit": limit} | ({"sort": list(sort)} if sort else {})
        if index:
            body["use_index"] = index
        return self._reading(owner, doctype, lambda db: db.post("_find", body)["docs"])

    def find_in_order(
        self,
        owner: Owner,
        doctype: str,
        selector: Document,
        *,
        index: str,
        fields: Sequence[str],
        order: str,
        limit: int,
    ) -> list[Document]:
        """In the order of the fields of an index, which is made when it is first asked for. `order`: `asc`, `desc`."""

        def find() -> list[Document]:
            sort = [{field: order} for field in fields]
            return self.find(owner, doctype, selector, index=index, limit=limit, sort=sort)

        return self.with_index(owner, doctype, index, fields, find)

    def with_index(self, owner: Owner, doctype: str, name: str, fields: Sequence[str], find: Callable[[], T]) -> T:
        """What a query gives that needs an index, which is made when it is first asked for."""
        try:
            return find()
        except Retryable:
            raise
        except RagcoreError:  # nobody asked before: there is no index yet
            self.add_index(owner, doctype, name, list(fields))
            return find()

    def query(
        self, owner: Owner, doctype: str, route: str, body: Document | None = None, **params: str
    ) -> Document | None:
        """A client's own `_find` or `_all_docs`, as the database answers it; None where there is no database yet.

        Raises Rejected.
        """
        try:
            return translate(
                lambda: self._database(owner, doctype).ask("POST" if body else "GET", route, body, **params)
            )
        except NoDatabase:
            return None

    def define_index(self, owner: Owner, doctype: str, definition: Document) -> Document:
        """A client's own Mango index. Raises Rejected."""
        return self._writing(owner, doctype, lambda db: db.ask("POST", "_index", definition))

    def view(self, owner: Owner, doctype: str, design: str, keys: Sequence[str]) -> list[Document]:
        """The documents that the view `<design>/<design>` gives for some keys, in the order of the keys."""
        return self._reading(owner, doctype, lambda db: db.view(design, design, keys))

    def counts(self, owner: Owner, doctype: str, name: str, function: str, limit: int) -> list[tuple[Any, int]]:
        """How many documents have each key of the view `<name>/<name>` of a map function, for the first keys.

        The view is made when it is first asked for; where there is no database, none is.
        """

        def count() -> list[tuple[Any, int]]:
            return self._reading(owner, doctype, lambda db: db.counts(name, name, limit))

        try:
            return count()
        except NotFound:
            self.make_view(owner, doctype, name, function, "_count")
            return count()

    def make_database(self, owner: Owner, doctype: str) -> None:
        """Makes the database before its first document; one that is there already is fine."""
        self._create(database_name(owner.prefix, doctype))

    def add_index(self, owner: Owner, doctype: str, name: str, fields: list[str]) -> None:
        """Makes a Mango index, design document and name alike; one that is there already is fine."""
        body = {"index": {"fields": fields}, "ddoc": name, "name": name, "type": "json"}
        self._writing(owner, doctype, lambda db: db.post("_index", body))

    def make_view(self, owner: Owner, doctype: str, name: str, function: str, reduce: str = "") -> None:
        """Makes the view `<name>/<name>` of a map function; one that is there already is fine."""
        views = {name: {"map": function} | ({"reduce": reduce} if reduce else {})}

        def design(doc: Document) -> Document | None:
            return None if doc.get("views") == views else {**doc, "language": "javascript", "views": views}

        self.update(owner, doctype, f"_design/{name}", design)

    def changes(self, owner: Owner, doctype: str, since: Any, limit: int) -> Changes:
        """A page of the changes feed after `since` (0: from the beginning).

        Raises NotFound when there is no such database, UnknownSequence when it does not understand `since`.
        """
        database = self._database(owner, doctype)
        return self._changes(database, lambda: database.changes(since, limit), limit)

    def next_changes(self, owner: Owner, doctype: str, since: Any, limit: int, wait: float) -> Changes:
        """The same, once there are any, or after so many seconds."""
        database = self._database(owner, doctype)
        return self._changes(database, lambda: database.next_changes(since, limit, wait), limit)

    def last_sequence(self, owner: Owner, doctype: str) -> Any:
        """What the changes from now on come after. Raises NotFound."""
        return translate(lambda: self._database(owner, doctype).changes("now", 1))["last_seq"]

    def _changes(self, database: Database, call: Callable[[], Document], limit: int) -> Changes:
        try:
            page = translate(call)
        except BadRequest as error:
            raise UnknownSequence("the document database does not understand the sequence") from error
        rows = page["results"]
        if not all(row.get("doc") or row.get("deleted") for row in rows):
            raise Retryable("the document database could not read all changes")
        if "pending" in page:
            more = page["pending"] > 0
        else:  # PouchDB's server: whoever reads a full page would come again for nothing
            more = len(rows) >= limit and bool(translate(lambda: database.changes(page["last_seq"], 1))["results"])
        return Changes([row["doc"] for row in rows if row.get("doc")], page["last_seq"], more)

    def _database(self, owner: Owner, doctype: str) -> Database:
        return self.server.database(database_name(owner.prefix, doctype))

    def _reading(self, owner: Owner, doctype: str, call: Callable[[Database], list[T]]) -> list[T]:
        """Nothing where there is no database yet; any other trouble is no empty list."""
        try:
            return translate(lambda: call(self._database(owner, doctype)))
        except NoDatabase:
            return []

    def _writing(self, owner: Owner, doctype: str, call: Callable[[Database], T]) -> T:
        database = self._database(owner, doctype)
        try:
            return translate(lambda: call(database))
        except NotFound:
            self._create(database.name)
            return translate(lambda: call(database))

    def _create(self, name: str) -> None:
        self.server.create(name)
        self._made(name)

    def _tell(self, owner: Owner, doctype: str, written: Document, rev: str) -> None:
        if owner.domain is None or written["_id"].startswith("_design/"):
            return
        verb = "DELETED" if written.get("_deleted") else "UPDATED" if written.get("_rev") else "CREATED"
        self._announce(owner.domain, Event(verb, doctype, written["_id"], {**written, "_rev": rev}))


def database_name(prefix: str, doctype: str) -> str:
    """`alice.localhost` and `io.cozy.files`: `alice-localhost/io-cozy-files`."""
    return f"{prefix_of(prefix)}/{prefix_of(doctype)}"


def prefix_of(prefix: str) -> str:
    """How the names of an owner's databases begin."""
    return re.sub(r"[.:]", "-", prefix).lower()


def doctype_of(name: str) -> str:
    """The doctype of a database: they hold no dash."""
    return name.partition("/")[2].replace("-", ".")
