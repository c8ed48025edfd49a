"""The secrets of `io.cozy.accounts`: sealed when they come in, never sent out, and no query asks for them.

A secret is known by its name, wherever it stands in the document. `password` is sealed with the `login` beside it as
`credentials_encrypted`, another `<name>` as `<name>_encrypted` (`contracts/cozy.md`, Assistants, accounts).
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from ragcore.errors import Invalid
from ragcore.units import without_password
from ragcore.vault import Sealer

ACCOUNTS = "io.cozy.accounts"

PASSWORD, CREDENTIALS = "password", "credentials_encrypted"  # noqa: S105
BASE_URL = "baseUrl"  # may hold a password as well
SUFFIX = "_encrypted"
SECRETS = frozenset(
    {"password", "passphrase", "pass", "pwd", "pin", "otp", "secret", "clientsecret", "appsecret", "token", "idtoken",
     "accesstoken", "refreshtoken", "apikey", "privatekey", "credential", "credentials", "cookie", "cookies", "session",
     "code", "answer", "dob"}
)  # fmt: skip

Json = dict[str, Any]


def is_secret(name: str) -> bool:
    """Whether a field holds a secret, plain or sealed. `apiKey` and `api_key` are the same name."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return plain in SECRETS or plain.endswith("encrypted")


def without_secrets(value: Any) -> Any:
    """A document, or a part of one, as it may be sent out."""
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    if not isinstance(value, dict):
        return value
    shown = {name: without_secrets(part) for name, part in value.items() if not is_secret(name)}
    if _holds_password(shown.get(BASE_URL)):
        shown[BASE_URL] = _shown_url(shown[BASE_URL])
    return shown


def asks_for_secrets(query: Any) -> bool:
    """Whether a selector, a list of fields, a sort or an index names a secret: its answers would tell it."""
    return any(
        is_secret(segment) or segment == BASE_URL
        for name in _names(query)
        for segment in [name, *name.replace("\\", "").split(".")]
    )


def _names(query: Any) -> Iterator[str]:
    """Every text of a query that may be the name of a field: keys, and texts in lists (`fields`, `sort`)."""
    if isinstance(query, dict):
        for name, part in query.items():
            yield name
            yield from _names(part)
    elif isinstance(query, list):
        for part in query:
            yield from [part] if isinstance(part, str) else _names(part)


def seal(sent: Json, stored: Json, sealer: Sealer) -> Json:
    """The document to save: its secrets sealed, and those kept that it does not name, as clients never see them.

    A secret that is `null` is taken away; what is sent as if it were sealed already is not taken. Raises NoKey, and
    Invalid for a URL that holds a password.
    """
    sealed: Json = _sealed_secrets(sent, sealer)
    for name, value in sent.items():
        if not is_secret(name):
            sealed[name] = _sealed_part(name, value, stored.get(name), sealer)
    removed = {_sealed_name(name) for name, value in sent.items() if is_secret(name) and value is None}
    kept = {**_sealed_secrets(stored, sealer), **{name: value for name, value in stored.items() if _is_sealed(name)}}
    return sealed | {name: value for name, value in kept.items() if name not in sealed and name not in removed}


def _sealed_part(name: str, value: Any, stored: Any, sealer: Sealer) -> Any:
    if isinstance(value, dict):
        return seal(value, stored if isinstance(stored, dict) else {}, sealer)
    if isinstance(value, list):
        former = stored if isinstance(stored, list) else []
        return [_sealed_part("", item, former[i] if i < len(former) else None, sealer) for i, item in enumerate(value)]
    if name == BASE_URL and _holds_password(stored) and value == _shown_url(stored):
        return stored  # as it was shown
    if name == BASE_URL and _holds_password(value):
        raise Invalid("a URL that holds a password cannot be sealed: put it in auth.password", f"/data/{BASE_URL}")
    return value


def _sealed_secrets(part: Json, sealer: Sealer) -> Json:
    """The plain secrets of an object, sealed under their new names."""
    sealed = {}
    for name, value in part.items():
        if not is_secret(name) or _is_sealed(name) or value in (None, ""):
            continue
        if name == PASSWORD and isinstance(value, str):
            login = part.get("login")
            sealed[CREDENTIALS] = sealer.credentials(login if isinstance(login, str) else "", value)
        else:
            sealed[_sealed_name(name)] = sealer.data(value)
    return sealed


def _sealed_name(name: str) -> str:
    return CREDENTIALS if name == PASSWORD else name + SUFFIX


def _is_sealed(name: str) -> bool:
    return name.lower().endswith("encrypted")


def _holds_password(url: Any) -> bool:
    if not isinstance(url, str) or "@" not in url:
        return False
    try:
        return "@" in urlsplit(url).netloc
    except ValueError:
        return True


def _shown_url(url: str) -> str:
    try:
        return without_password(url)
    except ValueError:
        return ""
