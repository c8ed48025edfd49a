"""A walk of 10 000 files that are up to date, openRAG taking 20 ms a call: what calls side by side save, and whether
memory grows with the folder."""

import tempfile
from pathlib import Path

from deploy.local.services import SERVERS
from deploy.local.stack import Stack
from tests.bench.drives import PARALLEL, Jobs, UpToDate
from tests.bench.row import Row, at_least_times, at_most
from tests.support.sandbox import Sandbox

CALL = 0.02  # seconds that openRAG takes for a call
FEW, SOME, MANY = 500, 1000, 10_000  # files


def measure(quick: bool) -> list[Row]:
    services = [service.name for service in SERVERS]
    some, many = (100, 1000) if quick else (SOME, MANY)
    with tempfile.TemporaryDirectory() as data, Stack(Path(data), services=services) as stack:
        jobs = Jobs(stack)
        drives = {size: UpToDate(stack, jobs.runtime, f"walk{size}.localhost", size) for size in (FEW, some, many)}
        Sandbox(stack.url("openrag")).set(call_delay=CALL)
        one_by_one = jobs.run(drives[FEW].walk, 1)
        jobs.run(drives[FEW].walk, PARALLEL)  # threads and connections are there
        costs = {size: jobs.run(drives[size].walk, PARALLEL) for size in (some, many)}
    beside = f"one call after the other, {FEW} files"
    memory = (costs[many].memory) / 2**20
    points = [(float(size), cost.seconds) for size, cost in costs.items()]
    return [
        Row(f"walk, {many} files up to date", many / costs[many].seconds, "files/s", beside, FEW / one_by_one.seconds,
            at_least_times(5), f"{costs[many].calls} calls of openRAG", points),
        Row(f"memory of a walk, {some} to {many} files", memory, "MiB", target=at_most(10, "10 MiB")),
    ]  # fmt: skip
