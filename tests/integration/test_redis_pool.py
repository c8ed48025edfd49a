"""Waiting for the messages of a subscription, over a real Redis."""

import socket
import struct
import threading
import time
import uuid

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from deploy.local.ports import HOST
from ragcore.redis_pool import connection_pool
from ragcore.runtime import REDIS_TIMEOUT, Runtime


def test_a_message_is_waited_for_and_for_no_longer_than_told(runtime: Runtime) -> None:
    redis, channel = Runtime(runtime.config).redis, uuid.uuid4().hex
    with redis.pubsub() as pubsub:
        pubsub.subscribe(channel)
        assert pubsub.get_message(timeout=5)["type"] == "subscribe"
        began = time.monotonic()
        assert pubsub.get_message(timeout=0) is None
        assert pubsub.get_message(timeout=0.01) is None
        assert time.monotonic() - began < REDIS_TIMEOUT
        for data in ("one", "two"):
            redis.publish(channel, data)
        assert [pubsub.get_message(timeout=5)["data"] for _ in range(2)] == ["one", "two"]
        assert pubsub.get_message(timeout=0.01) is None
        redis.client_kill_filter(_id=_id_of(redis, pubsub))
        with pytest.raises(RedisConnectionError):
            pubsub.get_message(timeout=5)


def test_a_connection_that_is_reset_is_an_error_of_redis() -> None:
    """Not one of sockets, which nobody expects."""
    with socket.create_server((HOST, 0)) as server:
        threading.Thread(target=_reset, args=(server,)).start()
        url = f"redis://{HOST}:{server.getsockname()[1]}"
        pool = connection_pool(url, protocol=2, retry=Retry(NoBackoff(), 0))
        with Redis(connection_pool=pool).pubsub() as pubsub:
            pubsub.subscribe("channel")
            with pytest.raises(RedisConnectionError):
                pubsub.get_message(timeout=5)


def _reset(server: socket.socket) -> None:
    """A Redis that says OK to all that a connection begins with, and breaks off once it is subscribed to."""
    connection, _ = server.accept()
    server.close()
    while b"SUBSCRIBE" not in (commands := connection.recv(1 << 16)):
        connection.sendall(b"+OK\r\n" * commands.count(b"*"))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _id_of(redis: Redis, pubsub: PubSub) -> str:
    own = pubsub.connection._sock.getsockname()
    return next(c["id"] for c in redis.client_list(_type="pubsub") if c["addr"] == f"{own[0]}:{own[1]}")
