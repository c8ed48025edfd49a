from collections.abc import Callable

import pytest

from deploy.local.stack import Stack
from tests.support.cli import Result, run


@pytest.fixture
def ragcore(stack: Stack) -> Callable[..., Result]:
    return lambda *words, **environment: run(*words, RAGCORE_CONFIG=str(stack.config_path), **environment)
