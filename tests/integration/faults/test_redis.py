"""A Redis that is restarted, paused, emptied or full, while answers stream, walks run and websockets are open."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from deploy.cli import client as cli_client
from deploy.local.process import Process
from deploy.local.stack import Stack
from ragcore.documents import ASSISTANTS, CONVERSATIONS, FILES, Directory
from ragcore.errors import NotFound
from ragcore.indexing.feed import Checkpoint
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start, owed
from tests.support.api import Client, question_of
from tests.support.audience import Listener, tally
from tests.support.chaos import Tell, times, whole
from tests.support.files import Drive
from tests.support.sandbox import Sandbox, said
from tests.support.workers import suspended

ANSWERS = 10
FILES_OF_A_WALK = times(15, 40)
PAUSE = times(4, 20)  # seconds
TOLD = 30.0  # seconds, after a Redis that lost its data
SCOPE = f"{cli_client.SCOPE} io.cozy.triggers io.cozy.jobs"

Redis = Process


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack() as stack:
        yield stack


@dataclass
class Cloud:
    """An instance at work: answers stream, a walk runs, triggers fire; and what it shows afterwards."""

    runtime: Runtime
    instance: Instance
    sandbox: Sandbox
    until: Callable
    questions: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = Client(self.runtime.config.public_url(self.instance.domain), self.instance, SCOPE)
        self.drive = Drive(self.runtime, self.instance)
        self.folder: Directory = self.drive.folder("/Papers")
        for doctype in (FILES, ASSISTANTS):
            self.client.add_trigger("@event", doctype)

    def begin(self, heard: Listener) -> None:
        """Returns when all answers have begun, and the walk has; one more question waits behind the first."""
        self.sandbox.script(*said("one two three four five six seven eight nine ten", 0.7), match="Slow", times=ANSWERS)
        self.sandbox.fault(route="/indexer/", delay=0.2, times=500)
        for number in range(FILES_OF_A_WALK):
            self.add_file(f"{number}.txt")
        self.drive.assistant(self.folder)
        asked = [self.client.ask("Slow", documents=False) for _ in range(ANSWERS)]
        self.questions = [question for _, question in asked]
        self.until(lambda: all(heard.told(question).docs for question in self.questions))
        self.until(lambda: self.sandbox.calls("/indexer/", "POST"))
        self.questions.append(self.client.ask("Behind", asked[0][0], documents=False)[1])

    def add_file(self, name: str) -> None:
        self.files.append(self.drive.file(f"/Papers/{name}", f"The text of {name}")["_id"])

    def is_refused(self, conversation: str) -> bool:
        """Whether a question is answered 503, with `Retry-After`, and nothing of it stays."""
        response = self.client.post(conversation, {"q": "Now?", "documents": False})
        refused = response.status_code == 503 and int(response.headers["Retry-After"]) > 0
        return refused and not self._is_saved(conversation)

    def comes_back(self, heard: Listener) -> None:
        """Each process has done something since: a question, a trigger of a file, a due time."""
        self.until(lambda: self._was_asked_and_answered(heard), within=30)
        self.add_file("afterwards.txt")
        due = self.client.add_trigger("@in", "1s")
        self.until(lambda: set(self.files) <= self.indexed(), within=45)
        self.until(lambda: not self.client.has_trigger(due), within=30)
        self.until(lambda: not owed(self.runtime), within=45)

    def indexed(self) -> set[str]:
        return set(self.runtime.openrag(self.instance).files())

    def figures(self, heard: Listener) -> dict[str, object]:
        wanted = f"{len(self.indexed() & set(self.files))} of {len(self.files)}"
        moved = Checkpoint.load(self.runtime.store, self.instance).last_seq != ""
        return tally(map(heard.told, self.questions)) | {"files": wanted, "checkpoint_moved": moved}

    def _was_asked_and_answered(self, heard: Listener) -> bool:
        response = self.client.post("afterwards", {"q": "And now?", "documents": False})
        if response.status_code != 202:
            return False
        question = question_of(response)
        self.until(lambda: heard.told(question).ends, within=30)
        return heard.told(question).ends == ["done"]

    def _is_saved(self, conversation: str) -> bool:
        try:
            self.runtime.store.get(self.instance, CONVERSATIONS, conversation)
        except NotFound:
            return False
        return True


@pytest.fixture
def cloud(runtime: Runtime, instance: Instance, sandbox: Sandbox, until: Callable) -> Cloud:
    return Cloud(runtime, instance, sandbox, until)


def restart(redis: Redis, cloud: Cloud) -> None:
    redis.stop()
    assert cloud.is_refused("without")
    redis.start()


def lose_data(redis: Redis, cloud: Cloud) -> None:
    redis.kill()
    shutil.rmtree(redis.log.parent.parent / "redis" / "appendonlydir")
    redis.start()


def refuse_for(seconds: float, cloud: Cloud) -> None:
    until = time.monotonic() + seconds
    assert cloud.is_refused("without")
    time.sleep(max(until - time.monotonic(), 0))


def pause(redis: Redis, cloud: Cloud) -> None:
    with suspended(redis):
        refuse_for(PAUSE, cloud)


def fill_up(redis: Redis, cloud: Cloud) -> None:
    """Full for writes; what is in it can be read."""
    server = cloud.runtime.redis
    server.config_set("maxmemory-policy", "noeviction")
    server.config_set("maxmemory", 1)
    try:
        refuse_for(PAUSE, cloud)
    finally:
        server.config_set("maxmemory", 0)


BROKEN = [
    pytest.param(restart, "Redis restarted with its data", id="restarted", marks=whole),
    pytest.param(lose_data, "Redis restarted without its data", id="emptied"),
    pytest.param(pause, f"Redis paused for {PAUSE} s", id="paused", marks=whole),
    pytest.param(fill_up, f"Redis out of memory for {PAUSE} s", id="full", marks=whole),
]


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("broken", "name"), BROKEN)
def test_a_broken_redis(own: Stack, cloud: Cloud, broken: Callable, name: str, tell: Tell, until: Callable) -> None:
    with Listener(cloud.client) as heard:
        cloud.begin(heard)
        broken(own.processes["redis"], cloud)
        mended = time.monotonic()
        try:
            until(lambda: heard.has_ends(cloud.questions), within=TOLD)
            cloud.comes_back(heard)
        finally:
            figures = cloud.figures(heard)
            tell(f"{ANSWERS} answers, one waiting, a walk", name, **figures, s=round(time.monotonic() - mended, 1))
    own.check()
    assert (figures["hung"], figures["doubled"], figures["out_of_order"]) == (0, 0, 0)
    if broken is not lose_data:
        assert figures["lost"] == 0
