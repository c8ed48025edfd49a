"""What an event costs: processor time of each process, and bytes of Redis. All that an answer needs is in it, shared by
its events. Unlike delays it is much the same on a busy machine; `docs/scaling.md` reckons with it."""

import tempfile
import time
from pathlib import Path

from redis import Redis

from deploy.local.stack import Stack
from tests.bench.clock import clock
from tests.bench.many_answers import BESIDE, SECONDS, ask
from tests.bench.processes import Usage
from tests.bench.row import Row

MEASURED = {"api": "the API", "worker-query": "a query worker", "redis": "Redis", "couchdb": "the embedded database"}
ANSWERS, RATE = 50, 15  # chunks a second
AWHILE = 5.0  # seconds


def measure(quick: bool) -> list[Row]:
    answers, chunks = 5 if quick else ANSWERS, SECONDS * RATE
    with tempfile.TemporaryDirectory() as data, clock(chunks, 1 / RATE) as openrag:
        config = {"rag": {"default": {"url": openrag.url}}}
        with Stack(Path(data), services=BESIDE, config=config) as stack:
            ask(stack, 1)
            used, size = _spent(stack, answers)
    events = answers * chunks
    name = f"an event, of {chunks} of an answer"
    rows = [Row(f"{name}: processor time of {MEASURED[of]}", used[of] / events * 1e6, "µs") for of in MEASURED]
    return [*rows, Row(f"{name}: memory of Redis", size / events, "bytes")]


def _spent(stack: Stack, answers: int) -> tuple[dict[str, float], int]:
    """Seconds of each process, less what it uses idle; bytes of Redis."""
    redis = Redis.from_url(stack.url("redis"))
    idle = _used(stack)
    time.sleep(AWHILE)
    before, memory, began = _used(stack), redis.info("memory")["used_memory"], time.monotonic()
    ask(stack, answers)
    share = (time.monotonic() - began) / AWHILE
    after, grown = _used(stack), redis.info("memory")["used_memory"] - memory
    return {of: after[of] - before[of] - share * (before[of] - idle[of]) for of in MEASURED}, grown


def _used(stack: Stack) -> dict[str, float]:
    return {of: Usage.of(stack, of).seconds for of in MEASURED}
