"""Instances: the documents of `global/instances` (`contracts/cozy.md`, Databases)."""

import base64
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ragcore.config import Config, RagServer
from ragcore.errors import Conflict, Invalid, NotFound
from ragcore.ledger import DOCTYPE as LEDGER
from ragcore.store import GLOBAL, Document, Store, database_name

log = logging.getLogger(__name__)

DOCTYPE = "instances"
CONVERSATIONS = "io.cozy.ai.chat.conversations"
CACHED = 5.0  # seconds that a process takes an instance for unchanged
MOST_KNOWN = 10_000
LONGEST_DOMAIN = 253
_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*(?::[1-9][0-9]{{0,4}})?", re.ASCII)
BY_DOMAIN = "domain-and-aliases"
BY_ORGANISATION = "instances-by-organisation"
MOST_MEMBERS = 10_000
MAP = """function (doc) {
  if (doc.domain) {
    emit(doc.domain);
    (doc.domain_aliases || []).forEach(function (alias) { emit(alias); });
  }
}"""


@dataclass(frozen=True)
class Instance:
    """One person's cloud. Its secrets (keys of the tokens) are bytes, and never leave the process."""

    domain: str
    prefix: str
    context: str = ""
    flags: dict[str, Any] = field(default_factory=dict)
    locale: str = "en"
    org_id: str = ""  # of the organisation that it is a member's of
    secrets: dict[str, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def from_document(cls, doc: Document) -> "Instance":
        keys = {name: base64.b64decode(doc.get(f"{name}_secret") or "") for name in ("session", "oauth", "cli")}
        return cls(
            domain=doc["domain"],
            prefix=doc.get("prefix") or doc["domain"],
            context=doc.get("context") or "",
            flags=doc.get("feature_flags") or {},
            locale=doc.get("locale") or "en",
            org_id=str(doc.get("org_id") or ""),
            secrets=keys,
        )

    def flag(self, config: Config, name: str) -> Any:
        """A feature flag: the instance's own, else its context's."""
        if (own := self.flags.get(name)) is not None:
            return own
        context = config.contexts.get(self.context or "default")
        return context.features.get(name) if context else None

    def rag_server(self, config: Config) -> RagServer:
        """The openRAG server of the instance: of its flag, else of its context, else the default one.

        A name that is not configured is ignored. Raises Invalid when there is no server at all.
        """
        named = self.flag(config, "rag.server")
        if named is not None and (not isinstance(named, str) or named not in config.rag):
            log.warning("%s: the openRAG server %r of its flag is not configured", self.domain, named)
        for name in (named, self.context, "default"):
            if isinstance(name, str) and name in config.rag:
                return config.rag[name]
        raise Invalid(f"no openRAG server is configured for {self.domain} (rag.default)")


class Instances:
    """Finds instances; a process remembers one for some seconds."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[float, Instance]] = {}
        self._lock = threading.Lock()

    def get(self, domain: str) -> Instance:
        """The instance of a domain or of an alias. Raises NotFound."""
        return self._find(domain, domain)

    def of_host(self, host: str) -> Instance:
        """The instance of a `Host` header: first as it stands, then without its port. Raises NotFound."""
        name, colon, port = host.rpartition(":")
        return self._find(host, host, *([name] if colon and port.isdecimal() else []))

    def _find(self, known_as: str, *names: str) -> Instance:
        with self._lock:
            until, instance = self._known.get(known_as, (0.0, None))
        if instance and self._clock() < until:
            return instance
        instance = Instance.from_document(self.document(*names))
        with self._lock:
            if len(self._known) >= MOST_KNOWN:  # anybody can ask for any port of a host
                self._known.clear()
            self._known[known_as] = (self._clock() + CACHED, instance)
        return instance

    def document(self, *names: str) -> Document:
        """The document of the first of the names that is a domain or an alias, in one request."""
        try:
            found = self._store.view(GLOBAL, DOCTYPE, BY_DOMAIN, names)
        except NotFound:  # the view is made with the first instance
            found = []
        if not found:
            raise NotFound(f"there is no instance {names[0]}")
        return found[0]

    def add(self, domain: str, context: str = "", locale: str = "en", org_id: str = "") -> Instance:
        """Raises Conflict when there is one already, Invalid when this is no domain."""
        _check_domain(domain)
        self._store.make_view(GLOBAL, DOCTYPE, BY_DOMAIN, MAP)
        if self._store.view(GLOBAL, DOCTYPE, BY_DOMAIN, [domain]):
            raise Conflict(f"there is an instance {domain} already")
        for other in self.all():
            if database_name(other.prefix, DOCTYPE) == database_name(domain, DOCTYPE):
                raise Conflict(f"{domain} would share its databases with {other.domain}")
        doc = {
            "_id": domain,
            "domain": domain,
            "prefix": domain,
            "context": context,
            "locale": locale,
            "feature_flags": {},
        } | ({"org_id": org_id} if org_id else {})
        keys = {f"{name}_secret": _new_secret() for name in ("session", "oauth", "cli")}
        instance = Instance.from_document(self._store.save(GLOBAL, DOCTYPE, doc | keys))
        # so that the first question need not wait for them
        self._store.make_database(instance, CONVERSATIONS)
        self._store.make_database(GLOBAL, LEDGER)
        return instance

    def all(self) -> list[Instance]:
        documents = self._store.all(GLOBAL, DOCTYPE)
        return sorted((Instance.from_document(doc) for doc in documents), key=lambda i: i.domain)

    def set_flags(self, domain: str, flags: dict[str, Any]) -> dict[str, Any]:
        """Merges flags into the instance's own, `None` taking one away: the flags as they are then."""

        def merge(doc: Document) -> Document:
            merged = {**(doc.get("feature_flags") or {}), **flags}
            return {**doc, "feature_flags": {k: v for k, v in merged.items() if v is not None}}

        saved = self._store.update(GLOBAL, DOCTYPE, self.document(domain)["_id"], merge)
        with self._lock:
            self._known.clear()
        flags_now: dict[str, Any] = saved["feature_flags"] if saved else {}
        return flags_now

    def remove(self, domain: str) -> None:
        """Takes the instance away; its databases and files stay."""
        self._store.delete(GLOBAL, DOCTYPE, self.document(domain))
        with self._lock:
            self._known.clear()


def members_of(store: Store, org_id: str) -> list[Instance]:
    """The instances of an organisation."""
    found = store.find_in_order(
        GLOBAL, DOCTYPE, {"org_id": org_id}, index=BY_ORGANISATION, fields=["org_id"], order="asc", limit=MOST_MEMBERS
    )
    return [Instance.from_document(doc) for doc in found]


def _check_domain(domain: str) -> None:
    if not _DOMAIN.fullmatch(domain) or len(domain) > LONGEST_DOMAIN:
        raise Invalid(f"{domain!r} is not a domain (write it in lower case, like alice.localhost)")


def _new_secret() -> str:
    return base64.b64encode(secrets.token_bytes(64)).decode()
