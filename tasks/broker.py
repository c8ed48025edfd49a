"""kombu's Redis transport (5.7), mended where a worker loses its connection in the middle of a job.

- It puts back what the worker still works on: the job would run a second time beside the first. What a killed worker
  held is found by the ledger's sweep.
- It acknowledges, when the job ends, on the channel that was closed: that fails, and ends the worker. The message
  comes again after the visibility time-out, and its job finds that all is done.
"""

from contextlib import suppress
from queue import Empty

from kombu.transport import redis


class QoS(redis.QoS):
    def ack(self, delivery_tag: str) -> None:
        if not self.channel.closed:
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if not self.channel.closed:
            super().reject(delivery_tag, requeue)


def mend() -> None:
    redis.Channel.do_restore = False
    redis.Channel.QoS = QoS


def read_to_end(channel: redis.Channel) -> None:
    """What Redis gives out to a consumer that was just cancelled goes back to the queue: it waits for a message for up
    to a second, and a worker that ends would keep that one until its last job is over."""
    if channel._in_poll:
        with suppress(Empty):
            channel._brpop_read()
