"""What an instance has used of the assistant today."""

from typing import Any

from ragcore import units
from ragcore.grounded.conversations import Conversations
from ragcore.instances import Instance
from ragcore.runtime import Runtime


def use_of_the_day(runtime: Runtime, instance: Instance) -> dict[str, Any]:
    """Since midnight, UTC: of the plan, where there is one, with its limits. Without one nothing is counted, and no
    turn of the agent reads the messages of a day. Raises Retryable."""
    conversations = Conversations(runtime, instance).changed_since(units.now()[:10])
    counted = runtime.budgets.usage(instance) if runtime.budgets.of(instance) else {}
    return {"conversations": conversations, **counted}
