"""What the tests of the chat share."""

from collections.abc import Callable
from typing import Any

import pytest

from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.runtime import Runtime


@pytest.fixture
def saved(runtime: Runtime, instance: Instance) -> Callable[[str], list[dict[str, Any]]]:
    """The messages of a conversation, as they are in the database."""
    return lambda conversation_id: runtime.store.get(instance, CONVERSATIONS, conversation_id)["messages"]
