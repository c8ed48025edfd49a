"""The write gate: what becomes a memory at once, and what waits for the person (the seed, Asking good questions)."""

from ragcore.config import Config
from ragcore.instances import Instance
from ragcore.memories.memory import ACTIVE, PENDING

CERTAIN = 0.8
REVIEW = "ai.memories.review"


def gate(confidence: float, *, asked: bool, review: bool) -> str:
    """The status of a new memory.

    `asked` says whether the user's own message asks to remember: a document that is read must not write memories.
    With `review` the person approves of each.
    """
    return ACTIVE if asked and not review and confidence >= CERTAIN else PENDING


def is_reviewed(config: Config, instance: Instance) -> bool:
    """Whether the instance, or else its context, is in review mode."""
    return bool(instance.flag(config, REVIEW))
