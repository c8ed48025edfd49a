"""An answer of the agent: completions with tools, until one of them calls none."""

from dataclasses import dataclass
from functools import cached_property

from ragcore import units
from ragcore.agent.calling import Calling
from ragcore.agent.recent import RECENT
from ragcore.agent.remember import SAVE
from ragcore.agent.search import SEARCH
from ragcore.agent.stats import STATS
from ragcore.agent.tools import Json, definitions
from ragcore.agent.turn import Turn
from ragcore.grounded.cite import Citations
from ragcore.grounded.gate import Gate
from ragcore.grounded.languages import nothing_found
from ragcore.grounded.prompt import prompt_text
from ragcore.grounded.sources import sources_of
from ragcore.grounded.way import Way
from ragcore.openrag import Chunk

TOOLS = {tool.name: tool for tool in (STATS, RECENT, SEARCH, SAVE)}


@dataclass(frozen=True)
class Agent(Way):
    """An answer that is grounded in nothing is asked for once more, then replaced."""

    def ask(self) -> None:
        turn = self._turn
        for again in (False, True):
            self._complete(again)
            if self.stream.has_text:
                cited = sources_of(self.runtime.store, self.instance, turn.passages, turn.cited)
                self.stream.sources = [source for source in cited if source["cited"]]
                return
            self.stream.begin_again()
        self.stream.take(Chunk(nothing_found(self.questions()), done=True))

    @cached_property
    def _turn(self) -> Turn:
        return Turn()

    def _complete(self, again: bool) -> None:
        """Up to a completion that calls no tool; the one behind the last call that may be made is offered none."""
        calling = Calling(self, self._turn, TOOLS)
        while True:
            offered = self._turn.left > 0
            self._read_one(offered, again)
            calls = self.stream.calls.all() if offered else []
            if not calls:
                return
            calling.run(calls)
            self.stream.begin_again()

    def _read_one(self, offered: bool, again: bool) -> None:
        turn = self._turn
        gate = Gate(self.stream, Citations(len(turn.passages)), may_call=offered, supported=turn.supported)
        self.read_through(gate, self.body(self._rules(again), turn.messages, **_offer(offered)))
        if gate.opened:
            turn.cited |= gate.citations.cited

    def _rules(self, again: bool) -> str:
        rules, second = (prompt_text(name, "ragcore.agent") for name in ("rules", "again"))
        return "\n\n".join([rules, f"Today is {units.now()[:10]}.", *([second] if again else [])])


def _offer(offered: bool) -> Json:
    return {"tools": definitions(TOOLS.values()), "tool_choice": "auto"} if offered else {}
