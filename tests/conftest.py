"""The fixtures of all tests: one embedded stack for the run, one fresh instance for each test."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from deploy.local.services import BY_ITSELF, NAMES
from deploy.local.stack import Stack
from ragcore import config
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.chaos import print_figures
from tests.support.files import new_instance
from tests.support.order import ByFile, place
from tests.support.sandbox import Sandbox
from tests.support.secrets import StackWithPasswords, leaks
from tests.support.vault import decryptor_file, encryptor_file

settings.register_profile("ours", deadline=None)  # no test is timed: these machines are noisy
settings.load_profile("ours")

# no walk of the night comes between the jobs of a test
SOCKETS_PER_TOKEN = 50
CONFIG = {
    "jobs": {"rag-index": {"retry_delay": "1s"}},
    "contexts": {"default": {"reindex": ""}},
    "limits": {"sockets_per_token": SOCKETS_PER_TOKEN},
    "plans": {"small": {"ask": 3, "agent": 3, "tokens": 1000, "upgrade_url": "https://example.net/upgrade"}},
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: place(item.nodeid))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    print_figures(terminalreporter)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.option.dist == "loadfile" else None


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Redis, the document database, the stand-in openRAG, the API and both pools and the scheduler: real processes.

    Nothing happens by itself here: the tests of that have stacks of their own.
    """
    keys = tmp_path_factory.mktemp("keys")
    vault = {
        "credentials_encryptor_key": str(encryptor_file(keys)),
        "credentials_decryptor_key": str(decryptor_file(keys)),
    }
    services = [name for name in NAMES if name not in BY_ITSELF]
    folder = tmp_path_factory.mktemp("stack")
    with StackWithPasswords(folder, services=services, config=CONFIG | {"vault": vault}) as running:
        os.environ["RAGCORE_CONFIG"] = str(running.config_path)
        yield running
        left = leaks(Runtime(config.load(path=Path(running.config_path))), running.data / "logs")
        del os.environ["RAGCORE_CONFIG"]
        for name in ("ragcore.events", "ragcore.claims"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # their Redis goes away now
        assert not left, left  # secrets, in what the whole run has logged, published and saved


@pytest.fixture(scope="session")
def runtime(stack: Stack) -> Runtime:
    return Runtime(config.load({}, Path(stack.config_path)))


@pytest.fixture
def sandbox(stack: Stack) -> Iterator[Sandbox]:
    """The control routes of the stand-in openRAG, without faults or scripts before and after the test."""
    control = Sandbox(stack.url("openrag"))
    control.reset()
    yield control
    control.reset()


@pytest.fixture
def instance(runtime: Runtime) -> Instance:
    """A new one; making it costs most in quick tests: a file of them has one for all, of scope `module`."""
    return new_instance(runtime)


@pytest.fixture
def client(runtime: Runtime, instance: Instance) -> Client:
    """The API of the instance, with a token for everything that a chat needs."""
    return Client(runtime.config.public_url(instance.domain), instance)


@pytest.fixture(scope="session")
def until() -> Callable[..., Any]:
    """Waits for a condition: `until(lambda: ..., within=10)` gives its first true value."""

    def wait(condition: Callable[[], Any], within: float = 15.0) -> Any:
        began = time.monotonic()
        while not (value := condition()):
            waited = time.monotonic() - began
            assert waited < within, "the condition did not come true in time"
            time.sleep(min(0.02 + waited / 20, 0.2))  # who waits long asks less often: asking costs others their time
        return value

    return wait
