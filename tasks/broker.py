"""kombu's Redis transport (5.7), mended where a worker loses its connection in the middle of a job, or Redis is full.

- It puts back what the worker still works on: the job would run a second time beside the first. What a killed worker
  held is found by the ledger's sweep.
- It acknowledges, when the job ends, on the channel that was closed: that fails, and ends the worker. The message
  comes again after the visibility time-out, and its job finds that all is done.
- It notes and acknowledges messages in transactions, of which a Redis that is out of memory refuses even those that
  free some. A message that cannot be noted was taken out of the queue already: it is done now, or never.
- What is no message in a queue ends the worker.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty
from typing import Any

from kombu import Consumer
from kombu.transport import redis
from kombu.transport.virtual import QoS as Unnoted
from redis.exceptions import ResponseError

log = logging.getLogger(__name__)


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


class Channel(redis.Channel):
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


def mend() -> None:
    redis.Transport.Channel = Channel


def read_to_end(consumer: Consumer | None) -> None:
    """What Redis gives out to a consumer that was just cancelled goes back to the queue: it waits for a message for up
    to a second, and a worker that ends would keep that one until its last job is over. Without a connection there is
    none."""
    if consumer is not None and consumer.channel._in_poll:
        with suppress(Empty, *consumer.channel.connection_errors):
            consumer.channel._brpop_read()
