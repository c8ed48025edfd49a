"""Index workers that are killed at random moments, while the files and the folders of the assistants change."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from deploy.local.stack import Stack
from ragcore.runtime import Runtime
from ragcore.turns import turn_key
from tests.integration.faults.conftest import Start
from tests.support.chaos import WHOLE, Tell, times
from tests.support.rule import World, figures
from tests.support.sandbox import Sandbox
from tests.support.turmoil import Turmoil, turmoil_of

KILLS = times(3, 20)
INSTANCES = times(3, 4)
FILES = times(30, 60)  # of each instance, at first
FREE = 30.0  # seconds after a kill
SETTLED = 150.0  # seconds; a message that was just handed to the killed worker is missed after two minutes


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
            with paused(turmoils):
                time.sleep(chance.uniform(times(0.2, 0), 1))  # the moment is what is tried
                worker.kill()
                turns.note_kill()
            worker.start()
        end(turmoils)
        until(turns.are_free, within=FREE)
    sandbox.set(call_delay=0)
    settle(worlds, until)
    found = figures(worlds)
    tell(
        f"indexing of {INSTANCES} instances, {sum(turmoil.changes for turmoil in turmoils)} changes meanwhile",
        f"SIGKILL to the index worker, {KILLS} times",
        **found, s_until_the_lock_was_free=round(turns.longest, 1),
    )  # fmt: skip
    assert [found[name] for name in ("differing", "contents twice", "still owed")] == [0, 0, 0]
    assert all(world.is_read() for world in worlds)
    assert turns.longest < FREE


@contextmanager
def paused(turmoils: list[Turmoil]) -> Iterator[None]:
    """In the short form: Redis may hand a message to a worker that dies; it is sent again only when its mark ends."""
    with ExitStack() as stack:
        for turmoil in [] if WHOLE else turmoils:
            stack.enter_context(turmoil.paused)
        yield


def end(turmoils: list[Turmoil]) -> None:
    for turmoil in turmoils:
        turmoil.end()


def settle(worlds: list[World], until: Callable) -> None:
    """Waits until all is as it should be; if it never is, the figures say so."""
    try:
        until(lambda: all(world.is_settled() for world in worlds), within=SETTLED)
    except AssertionError:
        print("not settled")
