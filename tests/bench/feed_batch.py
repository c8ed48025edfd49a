"""A feed batch of 100 files that are up to date: what calls side by side save, openRAG taking 20 ms for each."""

import tempfile
from pathlib import Path

from deploy.local.services import SERVERS
from deploy.local.stack import Stack
from tests.bench.clock import median
from tests.bench.drives import PARALLEL, Jobs, UpToDate
from tests.bench.row import Row, at_least_times
from tests.support.sandbox import Sandbox

BATCH = 100
CALL = 0.02  # seconds that openRAG takes for a call


def measure(quick: bool) -> list[Row]:
    services = [service.name for service in SERVERS]
    with tempfile.TemporaryDirectory() as data, Stack(Path(data), services=services) as stack:
        jobs = Jobs(stack)
        drive = UpToDate(stack, jobs.runtime, "batch.localhost", BATCH)
        Sandbox(stack.url("openrag")).set(call_delay=CALL)

        def rate(parallel: int) -> float:
            drive.touch(BATCH)
            return BATCH / jobs.run(drive.feed, parallel).seconds

        rate(PARALLEL)
        rates = [(rate(PARALLEL), rate(1)) for _ in range(2 if quick else 5)]
    value, other = (median(column) for column in zip(*rates, strict=True))
    name = "feed batch, 100 files up to date"
    return [Row(name, value, "files/s", "one call after the other", other, at_least_times(5))]
