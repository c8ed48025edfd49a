"""What the tests of the chat page share: a stack in which things happen by themselves, and a browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from deploy.cli.client import page_link
from deploy.local.stack import Stack
from ragcore import config
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.triggers.documents import Triggers
from tests.conftest import CONFIG
from tests.support.browser import chromium
from tests.support.page import DESKTOP, Faults
from tests.support.secrets import leaks

PATIENCE = 15_000  # milliseconds that a locator waits, and an expectation

Visit = Callable[..., Page]


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("page"), config=CONFIG) as running:
        yield running
        left = leaks(Runtime(config.load({}, Path(running.config_path))), running.data / "logs")
    assert not left, left  # secrets, of what the page asked for as well


@pytest.fixture(scope="package")
def runtime(stack: Stack) -> Runtime:
    return Runtime(config.load(path=Path(stack.config_path)))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with chromium() as running:
        yield running


@pytest.fixture
def instance(runtime: Runtime, instance: Instance) -> Instance:
    """One whose index follows its folders, as `ragcore instances add` makes it."""
    Triggers(runtime.store, instance).create_for_index()
    return instance


@pytest.fixture
def home(runtime: Runtime, instance: Instance) -> str:
    return runtime.config.public_url(instance.domain)


@pytest.fixture
def faults(home: str) -> Faults:
    return Faults(home.partition("//")[2])


@pytest.fixture
def visit(browser: Browser, instance: Instance, home: str, faults: Faults) -> Iterator[Visit]:
    """Opens the page, signed in: `visit(locale="fr-FR", viewport=PHONE, color_scheme="dark")`.

    Each time in a context of its own: a second window is `page.context.new_page()`. The test fails at its end
    for any error in a console and any request that failed or went elsewhere.
    """
    contexts: list[BrowserContext] = []

    def open_page(**options: Any) -> Page:
        context = browser.new_context(**{"locale": "en-GB", "viewport": DESKTOP} | options)
        context.set_default_timeout(PATIENCE)
        faults.watch(context)
        contexts.append(context)
        page = context.new_page()
        page.goto(page_link(home, instance))
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            page.evaluate("1")  # all that it told before is heard
        context.close()
    assert faults.left() == []


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit()
