"""URLs that may name several servers of one service: `redis+sentinel://:password@one:26379,two:26379/main/0`."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

SENTINEL = ("redis+sentinel", "rediss+sentinel")
SENTINEL_PORT = 26379


@dataclass(frozen=True)
class Servers:
    """A URL in its parts. `login` is `user:password` as the URL has it; a port is 0 where none is given."""

    scheme: str
    login: str
    hosts: tuple[tuple[str, int], ...]
    path: str
    query: Mapping[str, str]

    @classmethod
    def parse(cls, url: str) -> "Servers":
        """Raises ValueError."""
        parts = urlsplit(url)
        login, _, hosts = parts.netloc.rpartition("@")
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(parts.scheme, login, tuple(_host(host) for host in hosts.split(",")), parts.path, query)

    def each(self, scheme: str, path: str) -> list[str]:
        """The URL of each server, without a query."""
        login = f"{self.login}@" if self.login else ""
        return [f"{scheme}://{login}{_written(*host)}{path}" for host in self.hosts]


def _host(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.port == 0:
        raise ValueError("is not a URL")
    return parts.hostname, parts.port or 0


def _written(host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{port}" if port else name


@dataclass(frozen=True)
class Sentinels:
    """The Sentinels that know which server is the primary of a service, and what that server is asked with."""

    servers: Servers
    service: str
    db: int

    @classmethod
    def parse(cls, url: str) -> "Sentinels | None":
        """None where the URL is of a Redis itself. Raises ValueError."""
        servers = Servers.parse(url)
        if servers.scheme not in SENTINEL:
            return None
        service, _, db = servers.path.strip("/").partition("/")
        if not service or not (db or "0").isdecimal():
            raise ValueError("must name the service, and may name the database, behind its Sentinels: /SERVICE/0")
        if unknown := set(servers.query) - {"sentinel_username", "sentinel_password"}:
            raise ValueError(f"has an unknown parameter: {min(unknown)}")
        return cls(servers, unquote(service), int(db or 0))

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [(host, port or SENTINEL_PORT) for host, port in self.servers.hosts]

    @property
    def has_tls(self) -> bool:
        """Both on the way to the Sentinels and to the servers."""
        return self.servers.scheme.startswith("rediss")

    @property
    def username(self) -> str | None:
        """Of the servers; the Sentinels have a login of their own."""
        return unquote(self.servers.login.partition(":")[0]) or None

    @property
    def password(self) -> str | None:
        return unquote(self.servers.login.partition(":")[2]) or None

    @property
    def sentinel_login(self) -> dict[str, str]:
        return {name.removeprefix("sentinel_"): value for name, value in self.servers.query.items()}
