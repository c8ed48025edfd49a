"""A grounded answer: passages are found first, and what the LLM makes of them is let through where it cites them."""

from dataclasses import dataclass

from ragcore.grounded.cite import Citations
from ragcore.grounded.gate import Gate
from ragcore.grounded.languages import nothing_found
from ragcore.grounded.prompt import rules_of
from ragcore.grounded.sources import sources_of
from ragcore.grounded.way import Way
from ragcore.openrag import Chunk, Passage


@dataclass(frozen=True)
class Ask(Way):
    """Without a passage the LLM is not asked. An answer that cites none is asked for once more, then replaced."""

    def ask(self) -> None:
        passages = self._passages()
        if not passages or not self._answer(passages):
            self.stream.take(Chunk(nothing_found(self.questions()), done=True))

    def _passages(self) -> list[Passage]:
        """A follow-up that finds nothing by itself is looked up together with the question before it."""
        self.may_search()
        last, *before = list(self.questions())[:2]
        texts = (last, *(f"{last}\n{earlier}" for earlier in before))
        return next((found for text in texts if (found := self.find(text))), [])

    def _answer(self, passages: list[Passage]) -> bool:
        """Whether there is one."""
        for again in (False, True):
            if cited := self._ask(passages, again):
                self.stream.sources = sources_of(self.runtime.store, self.instance, passages, cited)
                return True
            self.stream.begin_again()
        return False

    def _ask(self, passages: list[Passage], again: bool) -> set[int]:
        """The numbers of the passages that the LLM cites."""
        gate = Gate(self.stream, Citations(len(passages)))
        self.read_through(gate, self.body(rules_of(passages, again)))
        return gate.citations.cited
