"""The connections to Redis, made from its URL: to the server itself, or to the one that its Sentinels name."""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

from redis import BlockingConnectionPool, Connection, ConnectionPool, Redis, SSLConnection
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool, SentinelManagedConnection

from ragcore import wire
from ragcore.servers import Sentinels

SENTINEL_TIMEOUT = 1.0  # seconds; then the next one is asked
AWAY = 10.0  # seconds that one which did not answer is not asked, unless no other does


def connection_pool(url: str, **options: Any) -> ConnectionPool:
    """One whose callers wait for a connection when all are in use."""
    sentinels = Sentinels.parse(url)
    if sentinels is None:
        pool = BlockingConnectionPool.from_url(url, **options)
        pool.connection_class = Plain if pool.connection_class is Connection else pool.connection_class
        return pool
    return SentinelPool(  # type: ignore[no-untyped-call]
        sentinels.service,
        Asked(sentinels.addresses, sentinel_kwargs=sentinel_options(sentinels)),
        db=sentinels.db,
        username=sentinels.username,
        password=sentinels.password,
        connection_class=ManagedWithTls if sentinels.has_tls else Managed,
        **options,
    )


def sentinel_options(sentinels: Sentinels) -> dict[str, Any]:
    """What a connection to a Sentinel is made with. One that is away is not tried again: the next one is asked."""
    times = {"socket_timeout": SENTINEL_TIMEOUT, "socket_connect_timeout": SENTINEL_TIMEOUT}
    tls = {"ssl": True} if sentinels.has_tls else {}
    return {**times, **tls, **sentinels.sentinel_login, "decode_responses": True, "retry": Retry(NoBackoff(), 0)}


class Quiet:
    """Looks, as redis-py does before each command, whether something is left to be read, without gevent's loop. Waits
    for a message once, where redis-py waits, looks again and reads."""

    def can_read(self: Any, timeout: float = 0) -> bool:
        if self._sock is None or hasattr(self._sock, "pending"):  # not connected yet, or with TLS
            return bool(super().can_read(timeout))  # type: ignore[misc]
        if self._parser._reader.has_data():
            return True
        if not timeout:
            return not wire.is_silent(self._sock) and bool(super().can_read())  # type: ignore[misc]
        try:
            return bool(self._parser.read_from_socket(timeout, raise_on_timeout=False))
        except OSError as error:
            self.disconnect()
            raise RedisConnectionError(f"the connection to Redis broke ({type(error).__name__})") from error


class Plain(Quiet, Connection):
    pass


class Managed(Quiet, SentinelManagedConnection):
    """A primary that may take no writes, as none of its replicas is there, may be one no more: the next connection is
    to the one that the Sentinels name then."""

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().read_response(*args, **kwargs)
        except ResponseError as error:
            if "NOREPLICAS" not in str(error):
                raise
            self.disconnect()  # type: ignore[no-untyped-call]
            raise RedisConnectionError("this primary is without its replicas") from None


class ManagedWithTls(Managed, SSLConnection):
    pass


class SentinelPool(SentinelConnectionPool, BlockingConnectionPool):
    """Each connection is made to the server that is the primary then; those to a former one are let go."""


class Asked(Sentinel):
    """All Sentinels are asked, and the newest of what they say counts, above all that of one which leads a failover.
    Until all know of it some name the former primary, which somebody may just have started again: whoever wrote there
    would lose it. One that is away is left out for a while."""

    def __init__(self, sentinels: list[tuple[str, int]], **options: Any) -> None:
        super().__init__(sentinels, **options)  # type: ignore[no-untyped-call]
        self._away: dict[Redis, float] = {}  # until when

    @classmethod
    def like(cls, sentinel: Sentinel) -> "Asked":
        asked = cls([])
        asked.sentinels = sentinel.sentinels
        return asked

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Raises MasterNotFoundError."""
        now = time.monotonic()
        away = {sentinel for sentinel, until in self._away.copy().items() if until > now}
        states = self._states(service_name, [s for s in self.sentinels if s not in away])
        states = states or self._states(service_name, away)
        newest = max((state["config-epoch"] for state in states), default=0)
        newest_states = [state for state in states if state["config-epoch"] == newest]
        failing_over = [state for state in newest_states if "failover_in_progress" in state["flags"]]
        for state in failing_over:  # one that leads none tells the former primary
            if promoted := _promoted(state, service_name):
                return promoted
        for state in newest_states:
            if not failing_over and self.check_master_state(state, service_name):  # type: ignore[no-untyped-call]
                return state["ip"], state["port"]
        reason = "a failover goes on" if failing_over else "no Sentinel that answers knows it"
        raise MasterNotFoundError(f"there is no primary of {service_name!r}: {reason}")

    def _states(self, service: str, sentinels: Iterable[Redis]) -> list[Any]:
        found = []
        for sentinel in sentinels:
            try:
                masters = cast(dict[str, Any], sentinel.sentinel_masters())
                found.append(masters.get(service, {}) | {"sentinel": sentinel})
            except RedisError:
                self._away[sentinel] = time.monotonic() + AWAY
        return [state for state in found if "ip" in state]


def _promoted(state: dict[str, Any], service: str) -> tuple[str, int] | None:
    """The server that is the primary before the failover is over, once there is one."""
    with suppress(RedisError):
        address = state["sentinel"].sentinel_get_master_addr_by_name(service)
        if address and tuple(address) != (state["ip"], state["port"]):
            return cast(tuple[str, int], tuple(address))
    return None
