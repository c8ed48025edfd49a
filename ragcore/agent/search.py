"""`search_knowledge_base`: passages and memories, as for a grounded answer."""

from ragcore.agent.tools import Json, Result, Tool, shown
from ragcore.grounded.way import Way
from ragcore.grounded.when import When

DATES: Json = {
    "since": {"type": "string", "description": "The first day of the last change, as 2026-01-31."},
    "until": {"type": "string", "description": "The last day of the last change, as 2026-01-31."},
}


def search(way: Way, arguments: Json) -> Result:
    found = way.find(arguments["query"], When.parse(arguments.get("since", ""), arguments.get("until", "")))
    files = list(dict.fromkeys(passage.filename for passage in found if passage.filename))
    return Result({"found": len(found)}, shown(arguments) | {"found": len(found), "files": files}, found)


SEARCH = Tool(
    "search_knowledge_base",
    "Searches the user's documents and memories, and gives the passages that fit best, each with a number to cite it "
    "by. since and until leave out what was last changed before or after.",
    search,
    {"query": {"type": "string", "pattern": r"\S", "maxLength": 1000, "description": "What to look for."}, **DATES},
    required=["query"],
    grounds=False,
)
