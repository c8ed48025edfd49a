"""Answers at once on one query worker and one API process: are events lost, doubled or out of order, and how long does
a chunk take from openRAG to its websocket, beside a bare Redis publish and receive at the same rate."""

import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deploy.local.stack import Stack
from tests.bench.clock import clock, p99
from tests.bench.listeners import Received, Target, follow
from tests.bench.people import runtime_of
from tests.bench.relay import bare
from tests.bench.row import Row, at_most
from tests.support.api import Client

ANSWERS = 200
SECONDS = 28  # that each answer takes
BEGUN, ENDING = 8, 8  # its first and last seconds, in which others begin and are saved, are told apart
BESIDE = ("redis", "couchdb", "api", "worker-index", "worker-query")


def measure(quick: bool) -> list[Row]:
    count = 20 if quick else ANSWERS
    return [row for rate, limit in ((10, 60), (20, 120)) for row in _rows(count, rate, limit)]


def _rows(count: int, rate: int, limit: float) -> list[Row]:
    chunks = SECONDS * rate
    with tempfile.TemporaryDirectory() as data, clock(chunks, 1 / rate) as openrag:
        config = {"rag": {"default": {"url": openrag.url}}}
        with Stack(Path(data), services=BESIDE, config=config) as stack:
            received = ask(stack, count)
            alone = bare(stack.url("redis"), count * rate)
    all_delays = [delay for answer in received for delay in answer.delays[BEGUN * rate :]]
    delays = [delay for answer in received for delay in answer.delays[BEGUN * rate : -ENDING * rate]]
    wrong = sum(answer.lost(chunks) + answer.doubled + answer.misordered for answer in received)
    name = f"{count} answers × {rate} chunks/s"
    return [
        Row(f"{name}: 99th percentile", p99(delays) * 1000, "ms", "bare, the same rate", p99(alone) * 1000,
            at_most(limit, f"{limit:g} ms"), f"while they are saved {p99(all_delays) * 1000:.0f} ms"),
        Row(f"{name}: events lost, doubled or out of order", wrong, "", target=at_most(0, "0")),
    ]  # fmt: skip


def ask(stack: Stack, count: int) -> list[Received]:
    """By an instance of their own."""
    runtime = runtime_of(stack)
    instance = runtime.instances.add(f"many{uuid.uuid4().hex[:8]}.localhost")
    client = Client(runtime.config.public_url(instance.domain), instance)
    with ThreadPoolExecutor(16) as pool:
        asked = list(pool.map(lambda number: client.ask(f"Question {number}", documents=False), range(count)))
    return follow([Target.of(client, question) for _, question in asked])
