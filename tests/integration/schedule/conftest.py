"""What the tests of the schedule share: a stack of their own in which nobody works, and a clock."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.stack import Stack
from ragcore import config
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.work import Work
from tests.support.files import Drive, new_instance
from tests.support.queue import Recorded


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0  # 2027-01-15, 08:00 UTC

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="package")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("idle"), services=("redis", "couchdb")) as stack:
        yield stack


@pytest.fixture
def runtime(idle: Stack) -> Iterator[Runtime]:
    """Redis is empty, and there is no instance."""
    made = Runtime(config.load({**os.environ, "RAGCORE_CONFIG": ""}, Path(idle.config_path)))
    made.redis.flushdb()
    for instance in made.instances.all():
        made.instances.remove(instance.domain)
    yield made
    made.publisher.flush()


@pytest.fixture
def instance(runtime: Runtime) -> Instance:
    return new_instance(runtime)


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    return Drive(runtime, instance)


@pytest.fixture
def queue() -> Recorded:
    return Recorded()


@pytest.fixture
def work(runtime: Runtime, queue: Recorded) -> Work:
    return Work(runtime, queue)
