"""Answers at once on one query worker and one API process: are events lost, doubled or out of order, and how long does
a chunk take from openRAG to the websocket, beside a bare Redis publish and receive at the same rate.

`python -m tests.bench.many_answers [ANSWERS] [CHUNKS A SECOND]` starts a stack of its own (200 answers, 10 a second).
"""

import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis

from deploy.local.stack import Stack
from ragcore.events import CHAT_EVENTS
from tests.bench.clock import clock, median, p99
from tests.bench.people import runtime_of
from tests.support.api import Client

SECONDS = 20  # that each answer takes
BESIDE = ("redis", "couchdb", "api", "worker-index", "worker-query")
CHANNEL = "bench"


@dataclass
class Received:
    """The events of one answer, as its websocket got them."""

    positions: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    terminals: list[str] = field(default_factory=list)

    def lost(self, chunks: int) -> int:
        return len(set(range(chunks)) - set(self.positions)) + (not self.terminals)

    @property
    def doubled(self) -> int:
        return len(self.positions) - len(set(self.positions)) + max(len(self.terminals) - 1, 0)

    @property
    def misordered(self) -> int:
        return sum(after < before for before, after in zip(self.positions, self.positions[1:], strict=False))


def follow(client: Client, number: int) -> Received:
    """Asks a question in a conversation of its own, and reads its events at a websocket of its own."""
    received = Received()
    _, question = client.ask(f"Question {number}", documents=False)
    with client.socket({"type": CHAT_EVENTS, "id": question}) as socket:
        for event in socket:
            doc, now = event["payload"]["doc"], time.time()
            if doc["object"] == "delta":
                received.positions.append(doc["position"])
                received.delays.append(now - float(doc["content"]))
            else:
                received.terminals.append(doc["object"])
                return received
    return received


def bare(url: str, rate: float, seconds: float) -> list[float]:
    """Delays of a bare publish and receive, so many a second."""
    delays: list[float] = []
    count = int(rate * seconds)

    def receive() -> None:
        with Redis.from_url(url).pubsub() as pubsub:
            pubsub.subscribe(CHANNEL)
            ready.set()
            for message in pubsub.listen():
                if message["type"] == "message":
                    delays.append(time.time() - float(message["data"]))
                    if len(delays) == count:
                        return

    ready = threading.Event()
    thread = threading.Thread(target=receive)
    thread.start()
    ready.wait()
    redis, began = Redis.from_url(url), time.monotonic()
    for number in range(count):
        time.sleep(max(began + number / rate - time.monotonic(), 0))
        redis.publish(CHANNEL, f"{time.time():.6f}")
    thread.join()
    return delays


def main() -> None:
    answers = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rate = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    chunks = int(SECONDS * rate)
    with tempfile.TemporaryDirectory() as data, clock(chunks, 1 / rate) as openrag:
        config = {"rag": {"default": {"url": openrag.url}}}
        received, alone = measure(Stack(Path(data), services=BESIDE, config=config), answers, rate)
    # the first second is that of the POSTs and of the websockets' opening
    delays = [delay for answer in received for delay in answer.delays[int(rate) :]]
    print(f"{answers} answers at once, {rate:g} chunks a second each, {chunks} chunks each")
    print(
        f"lost {sum(answer.lost(chunks) for answer in received)}, doubled {sum(a.doubled for a in received)}, "
        f"out of order {sum(answer.misordered for answer in received)}"
    )
    for name, found in {"chunk to websocket": delays, "bare publish and receive": alone}.items():
        print(f"{name:<26}median {median(found) * 1000:6.1f} ms   99th percentile {p99(found) * 1000:6.1f} ms")


def measure(stack: Stack, answers: int, rate: float) -> tuple[list[Received], list[float]]:
    with stack, ThreadPoolExecutor(answers) as pool:
        runtime = runtime_of(stack)
        instance = runtime.instances.add("many.localhost")
        client = Client(runtime.config.public_url(instance.domain), instance)
        received = list(pool.map(lambda number: follow(client, number), range(answers)))
        return received, bare(stack.url("redis"), answers * rate, 5)


if __name__ == "__main__":
    main()
