"""Index workers that end: killed at random moments, while files and folders change; told to, in the middle of a job."""

import io
import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import requests

from deploy.local.stack import Stack
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.turns import turn_key
from ragcore.work import Work
from tasks.app import INDEX, create_app
from tasks.base import CeleryQueue
from tests.integration.faults.conftest import Start
from tests.support.chaos import Tell, comes_true, times, whole
from tests.support.files import Drive
from tests.support.rule import World, figures
from tests.support.sandbox import Sandbox
from tests.support.turmoil import turmoil_of

KILLS = times(1, 20)
INSTANCES = times(1, 4)
FILES = times(25, 60)  # of each instance, at first
PAPERS = times(24, 300)  # of a job whose worker is told to end
UPLOADS = "/file/[0-9a-f]+$"
FREE = 30.0  # seconds after a kill
SETTLED = 60.0  # seconds; a message that was just handed to the killed worker is missed once the queue is empty


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api", "worker-index") as stack:
        yield stack


class Turns(threading.Thread):
    """Follows who has the turns of some instances, and when each holder was last seen."""

    def __init__(self, runtime: Runtime, domains: list[str]) -> None:
        super().__init__(daemon=True)
        self.held: dict[str, str] = {}
        self.killed: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._redis, self._domains = runtime.redis, domains
        self._over = threading.Event()

    def __enter__(self) -> "Turns":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.wait(0.05):
            held = self._redis.mget(map(turn_key, self._domains))
            self.held = {domain: holder for domain, holder in zip(self._domains, held, strict=True) if holder}
            self._seen |= dict.fromkeys(self.held.values(), time.monotonic())

    def is_worked_on(self, domain: str) -> bool:
        """By a worker that lives."""
        return domain in self.held and self.held[domain] not in self.killed

    def note_kill(self) -> None:
        """All who have a turn now are dead."""
        now = time.monotonic()
        self.killed |= {holder: now for holder in self.held.values() if holder not in self.killed}

    def are_free(self) -> bool:
        return not set(self.held.values()) & self.killed.keys()

    @property
    def longest(self) -> float:
        """Seconds that a turn was kept by the dead."""
        return max((self._seen[holder] - at for holder, at in self.killed.items()), default=0.0)


@pytest.mark.timeout(times(300, 1200))
def test_an_index_worker_is_killed_again_and_again(
    own: Stack, runtime: Runtime, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance, worker = random.Random(seed), own.processes["worker-index"]
    turmoils = [turmoil_of(runtime, random.Random(chance.random())) for _ in range(INSTANCES)]
    worlds = [World(own, turmoil.domain) for turmoil in turmoils]
    sandbox.set(call_delay=0.05)
    with Turns(runtime, [world.domain for world in worlds]) as turns:
        for number in range(KILLS):
            turmoil = turmoils[number % INSTANCES]
            if number < INSTANCES:
                turmoil.begin(FILES)
            turmoil.told()
            until(lambda domain=turmoil.domain: turns.is_worked_on(domain), within=FREE + 15)
            time.sleep(chance.uniform(0, 1))  # the moment is what is tried
            worker.kill()
            turns.note_kill()
            worker.start()
        for turmoil in turmoils:
            turmoil.end()
        until(turns.are_free, within=FREE)
    sandbox.set(call_delay=0)
    comes_true(until, lambda: all(world.is_settled() for world in worlds), SETTLED)
    found = figures(worlds)
    tell(
        f"indexing of {INSTANCES} instances, {sum(turmoil.changes for turmoil in turmoils)} changes meanwhile",
        f"SIGKILL to the index worker, {KILLS} times",
        **found, s_until_the_lock_was_free=round(turns.longest, 1),
    )  # fmt: skip
    assert [found[name] for name in ("differing", "contents twice", "still owed")] == [0, 0, 0]
    assert all(world.is_read() for world in worlds)
    assert turns.longest < FREE


@whole
def test_a_message_dies_with_the_worker_that_took_it(
    own: Stack, runtime: Runtime, instance: Instance, until: Callable, tell: Tell
) -> None:
    """Before it wrote anything anywhere."""
    world, worker = World(own, instance.domain), own.processes["worker-index"]
    worker.kill()
    Work(runtime, CeleryQueue(create_app(runtime.config))).feed(instance.domain)
    assert runtime.redis.brpop([INDEX], timeout=5)
    worker.start()
    began = time.monotonic()
    until(lambda: not world.owed(), within=60)
    took = time.monotonic() - began
    tell("the message of a feed job, just taken", "SIGKILL to its worker", **{"still owed": 0, "s": round(took, 1)})
    assert took < FREE


@pytest.mark.parametrize(
    ("route", "job"), [("reconcile", "a walk"), pytest.param("reset", "a batch", marks=whole)], ids=["walk", "batch"]
)
def test_an_index_worker_is_told_to_end(
    own: Stack, runtime: Runtime, instance: Instance, sandbox: Sandbox, until: Callable, tell: Tell,
    route: str, job: str,
) -> None:  # fmt: skip
    """It ends before its job does, which goes on in the next worker and sends no file twice."""

    def uploads() -> int:
        return len(sandbox.calls(UPLOADS, "POST"))

    add_papers(Drive(runtime, instance))
    worker, world = own.processes["worker-index"], World(own, instance.domain)
    sandbox.set(call_delay=0.8)
    requests.post(f"{own.url('admin')}/instances/{instance.domain}/rag/{route}", timeout=10).raise_for_status()
    until(uploads)
    worker.handle.terminate()
    told = time.monotonic()
    status = worker.handle.wait(20)
    ended, at_end = time.monotonic() - told, uploads()
    sandbox.set(call_delay=0)
    worker.start()
    until(lambda: not world.owed() and not world.differing(), within=60)
    found = {"on openRAG": len(world.held()), "uploads": uploads(), "s until it ended": round(ended, 1)}
    tell(f"{job} of {PAPERS} files", "SIGTERM to its worker", **found)
    assert status == 0
    assert at_end < PAPERS
    assert uploads() == PAPERS


def add_papers(drive: Drive) -> None:
    """So many files in the folder of an assistant."""
    folder = drive.folder("/Papers")
    for number in range(PAPERS):
        drive.editor.add_file(folder, f"{number}.txt", io.BytesIO(b"paper %d" % number))
    drive.assistant(folder)
