"""URLs that name several servers."""

import pytest

from ragcore.servers import Sentinels, Servers

URL = "redis+sentinel://me:p%40ss@one,two:26380,[::1]:1/main/3?sentinel_password=other"


def test_the_parts_of_a_url_of_sentinels() -> None:
    sentinels = Sentinels.parse(URL)
    assert sentinels is not None
    assert sentinels.addresses == [("one", 26379), ("two", 26380), ("::1", 1)]
    assert (sentinels.service, sentinels.db) == ("main", 3)
    assert (sentinels.username, sentinels.password) == ("me", "p@ss")
    assert sentinels.sentinel_login == {"password": "other"}
    assert not sentinels.has_tls


def test_what_may_be_left_out() -> None:
    sentinels = Sentinels.parse("rediss+sentinel://one/main")
    assert sentinels is not None
    assert (sentinels.db, sentinels.username, sentinels.password, sentinels.sentinel_login) == (0, None, None, {})
    assert sentinels.has_tls


@pytest.mark.parametrize("url", ["redis://h:1/0", "rediss://:p@h"])
def test_a_redis_itself_is_none(url: str) -> None:
    assert Sentinels.parse(url) is None


@pytest.mark.parametrize(
    ("url", "urls"),
    [
        ("amqp://u:p@one:1,two/v", ["x://u:p@one:1/v", "x://u:p@two/v"]),
        ("amqp://[::1]:5672/", ["x://[::1]:5672/"]),
    ],
)
def test_the_url_of_each(url: str, urls: list[str]) -> None:
    servers = Servers.parse(url)
    assert servers.each("x", servers.path) == urls
