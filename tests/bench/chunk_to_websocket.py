"""From a chunk's leaving openRAG to its arrival at a websocket, of one answer, beside a bare relay."""

import tempfile
from pathlib import Path

from deploy.local.stack import Stack
from tests.bench.clock import clock, median, p99
from tests.bench.many_answers import BESIDE, ask
from tests.bench.relay import relayed
from tests.bench.row import Row, times

RATE = 20  # chunks a second
CHUNKS = 400


def measure(quick: bool) -> list[Row]:
    chunks = 60 if quick else CHUNKS
    with tempfile.TemporaryDirectory() as data, clock(chunks, 1 / RATE) as openrag:
        config = {"rag": {"default": {"url": openrag.url}}}
        with Stack(Path(data), services=BESIDE, config=config) as stack:
            (received,) = ask(stack, 1)
            assert not received.lost(chunks)
            alone = relayed(stack.url("redis"), RATE)
    delays = received.delays[RATE:]  # the first second is that of the websocket's opening
    beside = "publish, receive and websocket, bare"
    return [
        Row(f"chunk to websocket, one answer: {name}", of(delays) * 1000, "ms", beside, of(alone) * 1000, times(factor))
        for name, of, factor in (("median", median, 2), ("99th percentile", p99, 3))
    ]
