"""What is broken here is broken on stacks of these tests' own: real processes, ended when their file is done."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from redis.exceptions import RedisError

from deploy.local.services import NAMES
from deploy.local.stack import Stack
from ragcore import config
from ragcore.errors import RagcoreError
from ragcore.ledger import DOCTYPE
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL
from ragcore.work import KNOWN
from tests.support.chaos import FIGURES, Tell, row
from tests.support.sandbox import Sandbox
from tests.support.secrets import leaks

ONCE_MORE = {"jobs": {"rag-index": {"retry_delay": "1s"}}, "contexts": {"default": {"reindex": ""}}}

Start = Callable[..., AbstractContextManager[Stack]]


@pytest.fixture(scope="module")
def start_stack(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """`with start_stack(*services, **config) as stack:`; it sweeps at once, as one that has run for long."""

    @contextmanager
    def start(*services: str, made: Callable[[Stack], object] = lambda stack: None, **more: Any) -> Iterator[Stack]:
        folder = tmp_path_factory.mktemp("faults")
        stack = Stack(folder, services=services or NAMES, config=ONCE_MORE | more)
        made(stack)  # it has no addresses yet
        with stack:
            runtime_of(stack).redis.set(KNOWN, "1")
            yield stack
            runtime = runtime_of(stack)
            left = leaks(runtime, stack.data / "logs") if is_whole(runtime) else []
        assert not left, left  # secrets, in what broken processes have logged, published and saved

    return start


def is_whole(runtime: Runtime) -> bool:
    """Redis and the document database, which a test may have left broken."""
    try:
        return bool(runtime.redis.ping()) and runtime.store.all(GLOBAL, DOCTYPE) is not None
    except (RedisError, RagcoreError):
        return False


def runtime_of(stack: Stack) -> Runtime:
    return Runtime(config.load({}, stack.config_path))


def owed(runtime: Runtime) -> list[str]:
    """What the ledger holds, of all instances."""
    return [doc["_id"] for doc in runtime.store.all(GLOBAL, DOCTYPE)]


@pytest.fixture
def runtime(own: Stack) -> Runtime:
    """Of the stack `own`, which each file of tests starts for itself."""
    return runtime_of(own)


@pytest.fixture
def sandbox(own: Stack) -> Sandbox:
    control = Sandbox(own.url("openrag"))
    control.reset()
    return control


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Tell:
    """`tell("20 answers", "SIGKILL to their worker", answered=3, hung=0)`: a row of the table of faults."""
    return lambda under_way, broken, **figures: record_property(FIGURES, row(under_way, broken, figures))
