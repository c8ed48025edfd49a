"""Names under `.localhost` are the loopback (RFC 6761), which Debian's resolver does not know.

Our own clients resolve them here and send the name as `Host`. A server leads them nowhere else: see `Session`.
"""

from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

import requests
from requests.utils import requote_uri
from urllib3.util import parse_url
from urllib3.util.retry import Retry

from ragcore.aborting import Adapter

LOOPBACK = "127.0.0.1"

# a kept connection may be closed by the server at the moment that it is used: a read is tried once more
READ_AGAIN = Retry(total=1, connect=0, read=1, status=0, allowed_methods={"GET"}, respect_retry_after_header=False)


def resolve(url: str) -> tuple[str, str]:
    """The URL to connect to, and the value of `Host`."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    if not (parts.hostname or "").endswith(".localhost"):
        return url, host
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit(parts._replace(netloc=LOOPBACK + port)), host


class _Adapter(Adapter):
    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        if request.url:
            request.url, request.headers["Host"] = resolve(request.url)
        return super().send(request, *args, **kwargs)


class Session(requests.Session):
    """Speaks with the server that it was told of, and with no other: what it sends holds keys, and what it is answered
    is believed.

    So nothing of the environment is followed (proxies, `.netrc`), no cookie is sent back, and a redirection is followed
    only to the same scheme, host and port: another one is the answer itself, and no success.
    """

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
        """As requests does it, with the headers, the credentials and the hooks of the session and nothing else of it:
        a fifth of a call's processor time went into cookies, proxies and certificates that there are none of."""
        assert not args, "by their names: there are a dozen"  # noqa: S101
        prepared = requests.PreparedRequest()
        prepared.prepare(
            method=str(method),
            url=str(url),
            headers={**self.headers, **(kwargs.pop("headers", None) or {})},
            auth=kwargs.pop("auth", None) or self.auth,
            hooks=self.hooks,
            **{name: kwargs.pop(name, None) for name in ("params", "data", "json", "files", "cookies")},
        )
        return self.send(prepared, proxies={}, **kwargs)

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        location = super().get_redirect_target(resp)
        return None if location is None else _on_same_server(resp.url, location)


def _on_same_server(url: str, location: str) -> str | None:
    """The whole URL to go on with: quoted first, and then read as the connection would, which urllib3 makes."""
    try:
        there = requote_uri(urljoin(url, location))
        return there if _server(parse_url(url)) == _server(parse_url(resolve(there)[0])) else None
    except ValueError:
        return None


def _server(url: Any) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


def session(connections: int = 16) -> Session:
    """A session of pooled connections that knows these names."""
    made = Session()
    adapter = _Adapter(pool_connections=connections, pool_maxsize=connections, max_retries=READ_AGAIN)
    made.mount("http://", adapter)
    made.mount("https://", adapter)
    return made
