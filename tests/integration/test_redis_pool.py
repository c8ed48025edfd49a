"""Waiting for the messages of a subscription, over a real Redis."""

import uuid

import pytest
from redis import Redis
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError

from ragcore.runtime import Runtime


def test_a_message_is_waited_for_and_for_no_longer_than_told(runtime: Runtime) -> None:
    redis, channel = Runtime(runtime.config).redis, uuid.uuid4().hex
    with redis.pubsub() as pubsub:
        pubsub.subscribe(channel)
        assert pubsub.get_message(timeout=5)["type"] == "subscribe"
        assert pubsub.get_message(timeout=0) is None
        assert pubsub.get_message(timeout=0.01) is None
        for data in ("one", "two"):
            redis.publish(channel, data)
        assert [pubsub.get_message(timeout=5)["data"] for _ in range(2)] == ["one", "two"]
        assert pubsub.get_message(timeout=0.01) is None
        redis.client_kill_filter(_id=_id_of(redis, pubsub))
        with pytest.raises(RedisConnectionError):
            pubsub.get_message(timeout=5)


def _id_of(redis: Redis, pubsub: PubSub) -> str:
    own = pubsub.connection._sock.getsockname()
    return next(c["id"] for c in redis.client_list(_type="pubsub") if c["addr"] == f"{own[0]}:{own[1]}")
