"""Which plan an instance has."""

from ragcore.config import Config, Plan
from ragcore.instances import Instance

FLAG = "ai.plan"
FREE = "free"  # that of whoever has no other


def plan_of(config: Config, instance: Instance) -> tuple[str, Plan] | None:
    """Name and plan: of the instance's flag, else of its context's; of a name that is not configured, and without one,
    `free`, where there is that."""
    if not config.plans:
        return None
    named = instance.flag(config, FLAG)
    for name in (named, FREE):
        if isinstance(name, str) and name in config.plans:
            return name, config.plans[name]
    return None
