from collections.abc import Callable

import openai
import pytest

from ragcore.runtime import Runtime
from tests.support import grounded
from tests.support.grounded import Library
from tests.support.openai import client_of


@pytest.fixture(scope="module")
def library(runtime: Runtime, until: Callable) -> Library:
    """One for all tests of a file: to index it takes longer than to ask."""
    return grounded.library(runtime, until)


@pytest.fixture(scope="module")
def ai(library: Library) -> openai.OpenAI:
    return client_of(library.client)
