"""API keys of an instance: for programs that stay, where a token ends after days.

An operator makes one. It is shown once and kept as a hash, in `global/rag-keys`, which no client reads and no event
tells of. A removed key opens nothing from then on: each request looks it up.
"""

import hmac
import re
import secrets
from dataclasses import dataclass, field

from ragcore import units
from ragcore.documents import CONVERSATIONS, FILES
from ragcore.errors import Invalid, NotFound
from ragcore.instances import Instance
from ragcore.permissions import InvalidToken, Permissions, read_token
from ragcore.store import GLOBAL, Document, Store

DOCTYPE = "rag-keys"
MOST = 1000  # keys of an instance
CHAT = f"{CONVERSATIONS}:POST {FILES}:GET"
BEGIN = "rck_"
_KEY = re.compile(rf"{BEGIN}([0-9a-f]{{16}})_[0-9a-f]{{64}}", re.ASCII)


@dataclass(frozen=True)
class Key:
    """What is known of a key. `scope` is one as of tokens; `name` says what it is for."""

    id: str
    name: str
    scope: str
    created_at: str = field(default_factory=units.now)

    @classmethod
    def from_document(cls, doc: Document) -> "Key":
        return cls(doc["_id"], doc["name"], doc["scope"], doc["created_at"])

    def attributes(self) -> Document:
        return {"name": self.name, "scope": self.scope, "created_at": self.created_at}


@dataclass(frozen=True)
class Keys:
    store: Store
    instance: Instance

    def add(self, scope: str = CHAT, name: str = "") -> tuple[Key, str]:
        """A new key, and its text, which nobody can tell again. Raises Invalid for a scope without a rule."""
        if not scope.strip():
            raise Invalid("a key needs a scope: without one it opens nothing")
        key = Key(secrets.token_hex(8), name, " ".join(scope.split()))
        text = f"{BEGIN}{key.id}_{secrets.token_hex(32)}"
        doc = {"_id": key.id, "domain": self.instance.domain, "hash": self._hash(text), **key.attributes()}
        self.store.save(GLOBAL, DOCTYPE, doc)
        return key, text

    def all(self) -> list[Key]:
        """The oldest first."""
        found = self.store.find(GLOBAL, DOCTYPE, {"domain": self.instance.domain}, limit=MOST)
        return sorted(map(Key.from_document, found), key=lambda key: (key.created_at, key.id))

    def remove(self, key_id: str) -> None:
        """Raises NotFound."""
        self.store.delete(GLOBAL, DOCTYPE, self._document(key_id))

    def permissions(self, text: str) -> Permissions:
        """Raises InvalidToken."""
        found = _KEY.fullmatch(text)
        try:
            doc = self._document(found[1]) if found else None
        except NotFound:
            doc = None
        if doc is None or not hmac.compare_digest(doc["hash"], self._hash(text)):
            raise InvalidToken("the API key is unknown, removed or not of this instance")
        return Permissions.of_scope(doc["scope"])

    def _document(self, key_id: str) -> Document:
        doc = self.store.get_or_new(GLOBAL, DOCTYPE, key_id)
        if doc.get("domain") != self.instance.domain:
            raise NotFound(f"there is no key {key_id}")
        return doc

    def _hash(self, text: str) -> str:
        """With the key of the instance's tokens: one that is made anew under the same name has none of these keys.

        A text of 256 random bits is not guessed, however quickly the hash is made.
        """
        return hmac.new(self.instance.secrets["oauth"], text.encode(), "sha256").hexdigest()


def read_bearer(store: Store, instance: Instance, bearer: str) -> Permissions:
    """What an API key or a token of the instance may do. Raises InvalidToken."""
    return Keys(store, instance).permissions(bearer) if bearer.startswith(BEGIN) else read_token(instance, bearer)
