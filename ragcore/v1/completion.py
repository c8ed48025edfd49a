"""The way in which these questions are answered."""

from dataclasses import dataclass

from ragcore.grounded.ask import Ask
from ragcore.jobs import SummaryJob
from ragcore.store import Document


@dataclass(frozen=True)
class Completion(Ask):
    """As an ask is. Most conversations end with their first answer, however much was given before it: they are summed
    up from the second one on."""

    def afterwards(self, saved: Document) -> SummaryJob | None:
        goes_on = any(message.get("surface") for message in self.asked[:-1])
        return super().afterwards(saved) if goes_on else None
