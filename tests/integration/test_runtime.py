"""The connections of a process, on a real Redis."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ragcore.runtime import REDIS_CONNECTIONS, Runtime


def test_a_rush_of_more_than_the_connections_waits_for_them(runtime: Runtime) -> None:
    """As when two hundred clients come back at once, or a worker's every thread ends its answer."""

    def occupy(_: int) -> Any:
        return runtime.redis.blpop(["nothing"], timeout=0.3)

    rush = 2 * REDIS_CONNECTIONS
    with ThreadPoolExecutor(rush) as pool:
        assert list(pool.map(occupy, range(rush))) == [None] * rush
