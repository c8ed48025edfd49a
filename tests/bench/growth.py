"""How what nobody waits for grows: runs without changes and feed batches, with the files of an instance and with the
instances of a server. Each is to grow no faster than its cause.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from deploy.local.services import SERVERS
from deploy.local.stack import Stack
from ragcore.documents import FILES
from ragcore.runtime import Runtime
from ragcore.triggers.documents import EVENT, Trigger, Triggers
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.bench.clock import median
from tests.bench.drives import Jobs, UpToDate
from tests.bench.people import runtime_of
from tests.bench.row import Row, Target

SERVERS_ALONE = [service.name for service in SERVERS]
BATCH = 10  # files that are touched
TIMES = 5
IDLE = 10.0  # seconds
TICK = 0.01  # seconds of a processor, as the system counts them

Points = list[tuple[float, float]]


def measure(quick: bool) -> list[Row]:
    files = (10, 100, 1000) if quick else (10, 1000, 50_000)
    instances = (1, 10) if quick else (1, 10, 100)
    return [*_of_files(files), *_of_instances(instances)]


def _of_files(sizes: tuple[int, ...]) -> list[Row]:
    with tempfile.TemporaryDirectory() as data, Stack(Path(data), services=SERVERS_ALONE) as stack:
        jobs = Jobs(stack)
        drives = {size: UpToDate(stack, jobs.runtime, f"files{size}.localhost", size) for size in sizes}

        def batch(size: int) -> float:
            drives[size].touch(BATCH)
            return jobs.run(drives[size].feed).seconds * 1000

        nothing = _points(sizes, lambda size: jobs.run(drives[size].feed).seconds * 1000)
        touched = _points(sizes, batch)
    return [
        _row("scheduled run without changes", nothing, "files", "ms"),
        _row(f"feed batch, {BATCH} files up to date", touched, "files", "ms"),
    ]


def _of_instances(sizes: tuple[int, ...]) -> list[Row]:
    """The scheduled run of all of them by one index worker, and what the watcher uses while nothing changes."""
    services = [*SERVERS_ALONE, "worker-index", "watch"]
    runs: Points = []
    watching: Points = []
    with tempfile.TemporaryDirectory() as data, Stack(Path(data), services=services) as stack:
        runtime = runtime_of(stack)
        work = Work(runtime, CeleryQueue(create_app(runtime.config)))
        watcher = psutil.Process(stack.processes["watch"].pid)
        domains: list[str] = []
        for size in sizes:
            domains += [_owner(stack, runtime, f"i{number}.localhost") for number in range(len(domains), size)]
            _run_all(work, domains)
            runs.append((size, median([_run_all(work, domains) * 1000 for _ in range(TIMES)])))
            watching.append((size, _used(watcher) * 100))
    return [
        _row("scheduled run of all instances", runs, "instances", "ms"),
        _row("watcher, while nothing changes", watching, "instances", "% of a core"),
    ]


def _owner(stack: Stack, runtime: Runtime, domain: str) -> str:
    """An instance with files, and the trigger of its index."""
    drive = UpToDate(stack, runtime, domain, BATCH)
    Triggers(runtime.store, drive.instance).create(Trigger(EVENT, FILES, "rag-index", {"doctype": FILES}, "1s"))
    return domain


def _run_all(work: Work, domains: list[str]) -> float:
    """Seconds until all are done."""
    _wait_until_idle(work)
    began = time.monotonic()
    for domain in domains:
        work.feed(domain)
    _wait_until_idle(work)
    return time.monotonic() - began


def _wait_until_idle(work: Work) -> None:
    deadline = time.monotonic() + 120
    while any(True for _ in work.ledger.all()):
        assert time.monotonic() < deadline, "the jobs do not come to an end"
        time.sleep(0.03)


def _used(process: psutil.Process) -> float:
    """Its share of a core; not less than the system counts."""
    before = sum(process.cpu_times()[:2])
    time.sleep(IDLE)
    return max(sum(process.cpu_times()[:2]) - before, TICK) / IDLE


def _points(sizes: tuple[int, ...], seconds: Callable[[int], float]) -> Points:
    """The first time of each makes connections, and what else is made once."""
    for size in sizes:
        seconds(size)
    return [(size, median([seconds(size) for _ in range(TIMES)])) for size in sizes]


def _row(name: str, points: Points, cause: str, unit: str) -> Row:
    (few, least), *_, (many, most) = points
    beside = f"of {few:g} {cause}"
    return Row(f"{name}: {many:g} {cause}", most, unit, beside, least,
               Target(f"≤ {many / few:g} × (linear)", many / few), points=points)  # fmt: skip
