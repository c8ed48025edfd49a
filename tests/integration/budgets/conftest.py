from typing import Any

import pytest

from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.budgets import with_plans
from tests.support.chat import Answerer
from tests.support.sandbox import Sandbox

Json = dict[str, Any]


@pytest.fixture
def planned(runtime: Runtime) -> Runtime:
    """A process with a plan for everybody: 1000 tokens, 3 asks."""
    return with_plans(runtime, free={"tokens": 1000, "ask": 3}, pro={"tokens": 10**6})


@pytest.fixture
def answerer(planned: Runtime, instance: Instance, sandbox: Sandbox) -> Answerer:
    return Answerer(planned, instance)
