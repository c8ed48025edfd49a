from collections.abc import Callable

import pytest

from ragcore.runtime import Runtime
from tests.support import grounded
from tests.support.grounded import Library


@pytest.fixture(scope="module")
def library(runtime: Runtime, until: Callable) -> Library:
    return grounded.library(runtime, until)
