"""Citations in the text of an LLM: `[n]` of a passage that was given stays, any other is taken out.

Also while the text streams, wherever its chunks cut it. `[1, 3]` is `[1][3]`.
"""

import re
from dataclasses import dataclass, field

_LONGEST = 40  # characters between the brackets; what is longer is no citation
_CITATION = re.compile(rf"( ?)\[([0-9,; ]{{1,{_LONGEST}}})\]")
_UNFINISHED = re.compile(rf" ?(?:\[[0-9,; ]{{0,{_LONGEST}}})?\Z")
_OPEN = re.compile(rf"\[[0-9,; ]{{0,{_LONGEST}}}\Z")
_GAP = "…"  # for one that is taken out of other brackets, which would become a citation without it


@dataclass
class Citations:
    """The text of one answer, with `given` passages: those from 1 on."""

    given: int
    cited: set[int] = field(default_factory=set)
    _held: str = ""  # what may be the beginning of a citation
    _end: str = ""  # of what was let through

    def take(self, text: str) -> str:
        """What can be said by now."""
        text = self._held + text
        unfinished = _UNFINISHED.search(text)
        at = unfinished.start() if unfinished else len(text)
        self._held = text[at:]
        return self._checked(text[:at])

    def rest(self) -> str:
        """What is left when the answer is over."""
        rest, self._held = self._held, ""
        return self._checked(rest)

    def _checked(self, text: str) -> str:
        said, at = [], 0
        for found in _CITATION.finditer(text):
            said += [self._let(text[at : found.start()]), self._let(self._citation(found))]
            at = found.end()
        return "".join([*said, self._let(text[at:])])

    def _citation(self, found: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall("[0-9]+", found[2])]
        known = [number for number in numbers if 1 <= number <= self.given]
        if not numbers:
            return found[0]
        if not known:
            return _GAP if _OPEN.search(self._end) else ""
        self.cited.update(known)
        return found[1] + "".join(f"[{number}]" for number in known)

    def _let(self, text: str) -> str:
        self._end = (self._end + text)[-_LONGEST - 1 :]
        return text


def without_citations(text: str) -> str:
    """The text of an earlier answer: its numbers are those of other passages."""
    citations = Citations(0)
    return citations.take(text) + citations.rest()
