"""Celery's consumer, mended where the broker comes back; kombu's Redis transport (5.7), mended where a worker loses its
connection in the middle of a job, or Redis is full; and its RabbitMQ transport, mended where it has TLS.

- Celery waits 2 seconds between two tries to connect, then 4, up to 30: as long would questions wait for a broker that
  is back.
- After a lost connection it takes less messages, and more again with each job that ends, which the thread of that job
  tells RabbitMQ, on the connection of the main thread: two at once break it, and messages wait.

And of the Redis transport:

- It puts back what the worker still works on: the job would run a second time beside the first. What a killed worker
  held is found by the ledger's sweep.
- It acknowledges, when the job ends, on the channel that was closed: that fails, and ends the worker. The message
  comes again after the visibility time-out, and its job finds that all is done.
- It notes and acknowledges messages in transactions, of which a Redis that is out of memory refuses even those that
  free some. A message that cannot be noted was taken out of the queue already: it is done now, or never.
- What is no message in a queue ends the worker.

With `amqps://` kombu takes a certificate of any name for the broker's.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty
from typing import Any

from celery.worker import consumer
from kombu import Connection
from kombu.transport import pyamqp, redis
from kombu.transport.virtual import QoS as Unnoted
from redis.exceptions import ResponseError

from ragcore.redis_pool import Asked, Managed, ManagedWithTls, Plain

log = logging.getLogger(__name__)

AGAIN = {"interval_start": 0.5, "interval_step": 0.5, "interval_max": 2}  # seconds


class QoS(redis.QoS):
    def append(self, message: Any, delivery_tag: str) -> None:
        try:
            super().append(message, delivery_tag)
        except ResponseError as error:
            log.warning("a message is not noted as being worked on: %s", error)
            Unnoted.append(self, message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        if not self.channel.closed:
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if not self.channel.closed:
            super().reject(delivery_tag, requeue)

    @contextmanager
    def pipe_or_acquire(self, pipe: Any = None, client: Any = None) -> Iterator[Any]:
        if pipe:
            yield pipe
        else:
            with self.channel.conn_or_acquire(client) as acquired:
                yield acquired.pipeline(transaction=False)


class Mended:
    do_restore = False
    QoS = QoS
    _client: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        """One client for all messages that are sent on the channel: to make one takes as long as to send."""
        if asynchronous:
            return super()._create_client(asynchronous)
        if self._client is None or self._client.connection_pool is not self.pool:
            self._client = super()._create_client()
        return self._client

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)
        except (ValueError, TypeError, AttributeError) as error:
            log.error("what is no message is left out of a queue: %s: %s", type(error).__name__, error)
            raise Empty from None


class Channel(Mended, redis.Channel):
    connection_class = Plain


class SentinelChannel(Mended, redis.SentinelChannel):
    connection_class, connection_class_ssl = Managed, ManagedWithTls

    def _sentinel_managed_pool(self, asynchronous: bool = False) -> Any:
        pool = super()._sentinel_managed_pool(asynchronous)
        pool.proxy.sentinel_manager = Asked.like(pool.sentinel_manager)
        return pool


class WithTls(pyamqp.SSLTransport):
    def establish_connection(self) -> Any:
        self.client.ssl = {"server_hostname": None}  # that of the URL, also where the next node is tried
        return super().establish_connection()


def mend() -> None:
    pyamqp.SSLTransport = WithTls
    redis.Transport.Channel = Channel
    redis.SentinelTransport.Channel = SentinelChannel


class Consumer(consumer.Consumer):
    def ensure_connected(self, conn: Connection) -> Connection:
        conn.ensure_connection = partial(conn.ensure_connection, **AGAIN)
        return super().ensure_connected(conn)

    def _restore_prefetch_count_after_connection_restart(self, p: Any, *args: Any) -> None:
        self.call_soon(super()._restore_prefetch_count_after_connection_restart, p, *args)


def read_to_end(tasks: Any) -> None:
    """What Redis gives out to a consumer that was just cancelled goes back to the queue: it waits for a message for up
    to a second, and a worker that ends would keep that one until its last job is over. Without a connection there is
    none; RabbitMQ gives none out after that."""
    if tasks is not None and isinstance(tasks.channel, Mended) and tasks.channel._in_poll:
        with suppress(Empty, *tasks.channel.connection_errors):
            tasks.channel._brpop_read()
