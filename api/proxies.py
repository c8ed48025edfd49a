"""What proxies say of a request, `X-Forwarded-For` and `X-Forwarded-Host`: believed from the configured ones alone."""

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from werkzeug.middleware.proxy_fix import ProxyFix

WSGI = Callable[[dict[str, Any], Any], Iterable[bytes]]


class TrustedProxies:
    def __init__(self, app: WSGI, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> None:
        self._app = app
        self._behind_proxy = ProxyFix(app, x_for=1, x_proto=0, x_host=1)
        self._networks = networks

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        app = self._behind_proxy if self._is_trusted(environ.get("REMOTE_ADDR", "")) else self._app
        return app(environ, start_response)

    def _is_trusted(self, address: str) -> bool:
        ip = _ip(address)
        return ip is not None and any(ip in network for network in self._networks)


def is_loopback(address: str | None) -> bool:
    """Not where a proxy told no address."""
    ip = _ip(address or "")
    return ip is not None and ip.is_loopback


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A socket that takes both versions of IP writes 127.0.0.1 as ::ffff:127.0.0.1."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip
