import pytest

from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.chat import Answerer, Saved


@pytest.fixture
def saved(runtime: Runtime, instance: Instance) -> Saved:
    """The messages of a conversation, as they are in the database."""
    return lambda conversation_id: runtime.store.get(instance, CONVERSATIONS, conversation_id)["messages"]


@pytest.fixture
def answerer(runtime: Runtime, instance: Instance) -> Answerer:
    return Answerer(runtime, instance)
