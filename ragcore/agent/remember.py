"""`save_memory`: what the agent would remember, through the write gate."""

from ragcore.agent import AGENT
from ragcore.agent.tools import Json, Result, Tool, shown
from ragcore.grounded.way import Way
from ragcore.memories import ACTIVE, asks_to_remember
from ragcore.memories.memory import LONGEST

TOLD = {True: "it is remembered from now on", False: "it waits for the user's review, and is not used before"}


def remember(way: Way, arguments: Json) -> Result:
    """Whether the user asked for it, their own message says alone: no document writes memories."""
    way.claim.check()  # no memory of an answer that was stopped
    source = {"surface": AGENT, "conversation": way.job.conversation_id, "message": way.job.question_id}
    asked = asks_to_remember(way.question)
    memory = way.memories.remember(arguments["text"], arguments["confidence"], source, asked=asked)
    told = {"status": memory.status, "told": TOLD[memory.status == ACTIVE]}
    return Result(told, shown({"text": memory.text}) | {"status": memory.status, "id": memory.id})


SAVE = Tool(
    "save_memory",
    "Saves one fact about the user, their things or their wishes, to be known in every conversation.",
    remember,
    {
        "text": {
            "type": "string",
            "pattern": r"\S",
            "maxLength": LONGEST,
            "description": "The fact, as one whole sentence that is understood by itself.",
        },
        "confidence": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "How sure it is, from 0 to 1: 0.8 and more for what the user said themselves.",
        },
    },
    required=["text", "confidence"],
    one_by_one=True,
)
