from collections.abc import Callable

import pytest

from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support import grounded
from tests.support.chat import Answerer
from tests.support.grounded import Library


@pytest.fixture(scope="module")
def library(runtime: Runtime, until: Callable) -> Library:
    """One for all tests of a file: to index it takes longer than to ask."""
    return grounded.library(runtime, until)


@pytest.fixture
def answerer(runtime: Runtime, instance: Instance) -> Answerer:
    return Answerer(runtime, instance)
