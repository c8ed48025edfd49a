"""What is never told of an LLM, whatever the servers quote of it: its key, and what its URL is opened with."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

from ragcore.chat.providers import Provider

HIDDEN = "***"
_SHORTEST = 4  # characters of a secret that was cut: fewer say nothing of it
_IN_URL = re.compile(r"(?<=://)[^\s/?#@]+(?=@)")  # user name and password


def without_secrets(text: str, provider: Provider | None) -> str:
    """The text without any secret, nor the beginning of one that was cut at the end of the text."""
    for secret in sorted(_spellings(provider), key=len, reverse=True):
        text = _without_end(text.replace(secret, HIDDEN), secret)
    return _IN_URL.sub(HIDDEN, text)


def _spellings(provider: Provider | None) -> set[str]:
    """As they are, and as JSON and URLs have them."""
    secrets = [secret for secret in _secrets_of(provider) if secret] if provider else []
    return {spelled for secret in secrets for spelled in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""))}


def _secrets_of(provider: Provider) -> Iterator[str]:
    yield provider.api_key
    yield provider.base_url
    try:
        parts = urlsplit(provider.base_url)
    except ValueError:
        return
    yield parts.netloc.rpartition("@")[0]
    yield parts.password or ""
    yield parts.query


def _without_end(text: str, secret: str) -> str:
    for length in range(len(secret) - 1, _SHORTEST - 1, -1):
        if text.endswith(secret[:length]):
            return text[:-length] + HIDDEN
    return text
