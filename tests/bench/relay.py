"""What a chunk's way is compared with: a message published to Redis, received, and relayed over a websocket, by
programs that do nothing else, each in a process of its own."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context

from redis import Redis
from websockets.sync.server import ServerConnection, serve

from deploy.local.ports import HOST, choose_ports
from tests.bench.crowd import Recorder, connect

CHANNEL = "bench"
LAST = '"last"'
SECONDS = 10


def bare(url: str, rate: float) -> list[float]:
    """Delays of so many messages a second, from their being published to their being received."""
    count = int(rate * SECONDS)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        delays = process.submit(_received, url, count)
        _publish(url, rate, count)
        return delays.result()


def relayed(url: str, rate: float) -> list[float]:
    """The same, to their arrival at a websocket."""
    count, port = int(rate * SECONDS), choose_ports(["relay"], {})["relay"]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        processes.submit(_relay, url, port, count)
        delays = processes.submit(_at_websocket, port)
        _publish(url, rate, count)
        return delays.result()


def _publish(url: str, rate: float, count: int) -> None:
    redis = Redis.from_url(url)
    while not redis.pubsub_numsub(CHANNEL)[0][1]:
        time.sleep(0.01)
    began = time.monotonic()
    for number in range(count):
        time.sleep(max(began + number / rate - time.monotonic(), 0))
        redis.publish(CHANNEL, f"{time.time():.6f}")


@contextmanager
def _messages(url: str, count: int) -> Iterator[Iterator[bytes]]:
    with Redis.from_url(url).pubsub() as pubsub:
        pubsub.subscribe(CHANNEL)
        found = (message["data"] for message in pubsub.listen() if message["type"] == "message")
        yield islice(found, count)


def _received(url: str, count: int) -> list[float]:
    with _messages(url, count) as messages:
        return [time.time() - float(data) for data in messages]


def _relay(url: str, port: int, count: int) -> None:
    def relay(socket: ServerConnection) -> None:
        with _messages(url, count) as messages:
            for data in messages:
                socket.send(data.decode())
        socket.send(LAST)
        done.set()

    done, server = threading.Event(), serve(relay, HOST, port, compression=None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done.wait()


def _at_websocket(port: int) -> list[float]:
    """As the other ones are heard, with which this is compared."""
    recorder = asyncio.run(_record(port))
    return [now - sent for now, sent in recorder.messages() if isinstance(sent, float)]


async def _record(port: int) -> Recorder:
    while True:
        try:
            recorder = await connect(HOST, port, HOST, lambda: Recorder(b"", [LAST.encode()]))
        except ConnectionRefusedError:
            await asyncio.sleep(0.05)
        else:
            await recorder.over()
            return recorder
