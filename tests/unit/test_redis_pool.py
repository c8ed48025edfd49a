"""The connections to Redis, none of them made."""

from dataclasses import dataclass
from typing import Any

import pytest
from redis import BlockingConnectionPool, Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.sentinel import MasterNotFoundError

from ragcore.redis_pool import Asked, SentinelPool, connection_pool

OLD, NEW = ("10.0.0.1", 6379), ("10.0.0.2", 6379)


def test_a_redis_itself() -> None:
    pool = connection_pool("redis://:p@h:1/2", max_connections=3)
    assert isinstance(pool, BlockingConnectionPool)
    assert not isinstance(pool, SentinelPool)
    assert {"host": "h", "port": 1, "db": 2, "password": "p"}.items() <= pool.connection_kwargs.items()


def test_sentinels() -> None:
    pool = connection_pool("redis+sentinel://:p@one,two/main/2?sentinel_password=s", max_connections=3, timeout=0.01)
    assert isinstance(pool, SentinelPool)
    assert isinstance(pool, BlockingConnectionPool)  # who comes when all are in use waits
    assert {"db": 2, "password": "p"}.items() <= pool.connection_kwargs.items()
    (first, second) = pool.sentinel_manager.sentinels
    assert (first.connection_pool.connection_kwargs["host"], second.connection_pool.connection_kwargs["host"]) == (
        "one",
        "two",
    )
    assert first.connection_pool.connection_kwargs["password"] == "s"
    assert first.connection_pool.connection_kwargs["decode_responses"]  # addresses are compared


@dataclass(eq=False)
class Known:
    """A Sentinel that says who is the primary, since which epoch; or that is away."""

    primary: tuple[str, int] = OLD
    epoch: int = 1
    is_down: bool = False
    is_away: bool = False
    flags: str = "master"
    promoted: tuple[str, int] | None = None
    asked: int = 0

    def sentinel_masters(self) -> dict[str, Any]:
        self.asked += 1
        if self.is_away:
            raise RedisConnectionError
        state = {"is_master": True, "is_sdown": self.is_down, "is_odown": False, "num-other-sentinels": 2}
        state |= {"ip": self.primary[0], "port": self.primary[1], "config-epoch": self.epoch, "flags": self.flags}
        return {"main": state}

    def sentinel_get_master_addr_by_name(self, service: str) -> tuple[str, int]:
        return self.promoted or self.primary


def among(*known: Known) -> Asked:
    asked = Asked([])
    asked.sentinels = list(known)
    return asked


def test_the_newest_of_what_the_sentinels_say_counts() -> None:
    """The former primary may have been started again, before all of them know that it is one no more."""
    assert among(Known(), Known(NEW, epoch=2), Known()).discover_master("main") == NEW


def test_nobody_is_the_primary_in_the_middle_of_a_failover() -> None:
    with pytest.raises(MasterNotFoundError, match="goes on"):
        among(Known(), Known(flags="master,failover_in_progress"), Known()).discover_master("main")


def test_who_leads_a_failover_knows_the_new_primary_first() -> None:
    leads = Known(flags="master,failover_in_progress", promoted=NEW)
    not_elected = Known(flags="master,failover_in_progress")
    assert among(not_elected, leads, Known()).discover_master("main") == NEW


def test_one_that_knows_of_no_failover_yet_names_no_other_primary() -> None:
    with pytest.raises(MasterNotFoundError):
        among(Known(), Known(NEW, epoch=2, is_down=True)).discover_master("main")


def test_one_that_takes_the_primary_for_dead_is_not_alone() -> None:
    assert among(Known(is_down=True), Known()).discover_master("main") == OLD


def test_one_that_is_away_is_left_out_for_a_while() -> None:
    away, there = Known(is_away=True), Known()
    asked = among(away, there)
    assert [asked.discover_master("main") for _ in range(3)] == [OLD] * 3
    assert (away.asked, there.asked) == (1, 3)
    away.is_away, there.is_away = False, True
    assert asked.discover_master("main") == OLD


def test_a_service_that_none_knows_is_one_clear_line() -> None:
    client = Redis(connection_pool=connection_pool("redis+sentinel://:secret@127.0.0.1:1/main/0"))
    with pytest.raises(MasterNotFoundError, match="^there is no primary of 'main': no Sentinel that answers knows it$"):
        client.ping()
