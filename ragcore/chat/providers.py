"""The LLM of an assistant that has one of its own: an `io.cozy.accounts` document names it.

`contracts/cozy.md`, Assistants, accounts, conversations; the page of the doctype (seed 003), LLM provider.
"""

import logging
from dataclasses import dataclass, field
from typing import Any

from ragcore.documents import ACCOUNTS
from ragcore.errors import NotFound, RagcoreError
from ragcore.instances import Instance
from ragcore.store import Document, Store
from ragcore.units import is_web_url
from ragcore.vault import Sealed, Vault

log = logging.getLogger(__name__)


class Unusable(RagcoreError):
    """An account that names no LLM that openRAG could call."""


@dataclass(frozen=True)
class Provider:
    """What openRAG is sent of an account; what is empty is not sent. A URL may hold a password as well."""

    model: str = ""
    base_url: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)

    @property
    def llm_override(self) -> dict[str, str]:
        """The `llm_override` of a completion's metadata. It holds the key: it is for openRAG only."""
        fields = {"model": self.model, "base_url": self.base_url, "api_key": self.api_key}
        return {name: value for name, value in fields.items() if value}


def provider_of(store: Store, instance: Instance, vault: Vault, account_id: str | None) -> Provider | None:
    """Read at each question. None is the server's own LLM: no account, one that cannot be read, an empty one.

    A database that is away fails the question (Retryable): it does not say that the account cannot be read.
    """
    if not account_id:
        return None
    try:
        provider = from_account(_account(store, instance, account_id), vault)
    except (NotFound, Sealed, Unusable) as error:
        log.warning("%s: account %s: the default LLM is used: %s", instance.domain, account_id, error)
        return None
    return provider if provider.llm_override else None


def from_account(account: Document, vault: Vault) -> Provider:
    """Raises Sealed when the only key is one that cannot be opened: without it, the account is not whole.

    Raises Unusable for a URL that is not of the web: openRAG is to read no file, and no other protocol, with the key.
    """
    auth, data = _object(account.get("auth")), _object(account.get("data"))
    if (base_url := _text(data.get("baseUrl")).strip()) and not is_web_url(base_url):
        raise Unusable("its baseUrl is no http or https URL")
    return Provider(
        model=_text(data.get("model")) or _text(auth.get("login")),
        base_url=base_url,
        api_key=_api_key(auth, vault),
    )


def _api_key(auth: dict[str, Any], vault: Vault) -> str:
    """The sealed one, else the plain one. The login that is sealed with it is stale: it is no model."""
    plain = _text(auth.get("password"))
    sealed = _text(auth.get("credentials_encrypted"))
    if not sealed:
        return plain
    try:
        return _text(vault.open(sealed).password) or plain
    except Sealed:
        if plain:
            return plain
        raise


def _account(store: Store, instance: Instance, account_id: str) -> Document:
    """Raises NotFound."""
    if account_id.startswith("_"):
        raise NotFound("a route of the database is no account")
    return store.get(instance, ACCOUNTS, account_id)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """A text; what is blank, or none, is empty."""
    return value if isinstance(value, str) and value.strip() else ""
