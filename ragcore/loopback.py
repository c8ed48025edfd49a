"""Names under `.localhost` are the loopback (RFC 6761), which Debian's resolver does not know.

Our own clients resolve them here and send the name as `Host`.
"""

from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests
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


def session(connections: int = 16) -> requests.Session:
    """A session of pooled connections that knows these names and no proxies."""
    made = requests.Session()
    made.trust_env = False
    adapter = _Adapter(pool_connections=connections, pool_maxsize=connections, max_retries=READ_AGAIN)
    made.mount("http://", adapter)
    made.mount("https://", adapter)
    return made
