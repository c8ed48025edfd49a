"""The messages of a token, by a clock that the tests set."""

import pytest

from api.limits import ChatLimit
from ragcore.errors import TooMany


def test_so_many_in_each_minute_for_each_token() -> None:
    now = [120.0]
    limit = ChatLimit(2, lambda: now[0])
    for token in ("a", "b", "a", "b"):
        limit.hit(token)
    now[0] = 170.0
    for token in ("a", "b"):
        with pytest.raises(TooMany) as caught:
            limit.hit(token)
        assert caught.value.retry_after == 10.0
    now[0] = 179.9
    with pytest.raises(TooMany) as caught:
        limit.hit("a")
    assert caught.value.retry_after == 1
    now[0] = 180.0
    limit.hit("a")


def test_no_limit() -> None:
    limit = ChatLimit(0)
    for _ in range(3):
        limit.hit("a")
