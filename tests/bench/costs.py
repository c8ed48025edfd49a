"""What an answer costs: seconds of processor time of each process, and bytes of Redis, told for one answer and for one
of its events. Unlike delays they are much the same on a busy machine.

`python -m tests.bench.costs [ANSWERS] [CHUNKS A SECOND]` starts a stack of its own (50 answers, 15 a second).
"""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from redis import Redis

from deploy.local.process import Process
from deploy.local.stack import Stack
from tests.bench.clock import clock
from tests.bench.many_answers import BESIDE, SECONDS, follow
from tests.bench.people import runtime_of
from tests.support.api import Client

MEASURED = ("api", "worker-query", "redis", "couchdb")
AWHILE = 5  # seconds


def used(process: Process) -> float:
    """Seconds of the processor, its own and its children's."""
    times = [each.cpu_times() for each in (process.handle, *process.handle.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def measure(stack: Stack, answers: int, rate: float) -> dict[str, float]:
    """Seconds for each of MEASURED, and `bytes` of Redis."""
    with stack, ThreadPoolExecutor(answers) as pool:
        runtime, redis = runtime_of(stack), Redis.from_url(stack.url("redis"))
        instance = runtime.instances.add("costs.localhost")
        client = Client(runtime.config.public_url(instance.domain), instance)
        follow(client, answers)
        idle = {name: used(stack.processes[name]) for name in MEASURED}
        time.sleep(AWHILE)
        before = {name: used(stack.processes[name]) for name in MEASURED}
        memory, began = redis.info("memory")["used_memory"], time.monotonic()
        list(pool.map(lambda number: follow(client, number), range(answers)))
        share = (time.monotonic() - began) / AWHILE  # what they would have used without an answer
        after = {name: used(stack.processes[name]) for name in MEASURED}
        found = {name: after[name] - before[name] - share * (before[name] - idle[name]) for name in MEASURED}
        return found | {"bytes": redis.info("memory")["used_memory"] - memory}


def main() -> None:
    answers = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rate = float(sys.argv[2]) if len(sys.argv) > 2 else 15.0
    chunks = int(SECONDS * rate)
    with tempfile.TemporaryDirectory() as data, clock(chunks, 1 / rate) as openrag:
        config = {"rag": {"default": {"url": openrag.url}}}
        found = measure(Stack(Path(data), services=BESIDE, config=config), answers, rate)
    print(f"{answers} answers at once, {rate:g} chunks a second each, {chunks} chunks each")
    for name in MEASURED:
        each = found[name] / answers
        print(f"{name:<14}{each * 1000:7.1f} ms of processor an answer   {each / chunks * 1e6:6.0f} µs an event")
    each = found["bytes"] / answers
    print(f"{'Redis':<14}{each / 1024:7.1f} KiB an answer               {each / chunks:6.0f} bytes an event")


if __name__ == "__main__":
    main()
