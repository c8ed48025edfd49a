"""Memories: what the agent was told, and knows in every conversation."""

from ragcore.memories.asking import asks_to_remember
from ragcore.memories.gate import gate
from ragcore.memories.memories import Memories
from ragcore.memories.memory import ACTIVE, PENDING, REJECTED, STATUSES, Memory
from ragcore.memories.ranking import scores

__all__ = ["ACTIVE", "PENDING", "REJECTED", "STATUSES", "Memories", "Memory", "asks_to_remember", "gate", "scores"]
