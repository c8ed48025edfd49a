"""A memory: a sentence about a person, their things or their wishes (`io.cozy.ai.memories`)."""

from dataclasses import dataclass, field
from typing import Any

from ragcore import units
from ragcore.errors import Invalid
from ragcore.store import Document

ACTIVE, PENDING, REJECTED = "active", "pending", "rejected"
STATUSES = (ACTIVE, PENDING, REJECTED)
LONGEST = 2000  # characters


@dataclass(frozen=True)
class Memory:
    """An active one is used for answers, a pending one waits in the review inbox, a rejected one is used for nothing.

    `confidence` is from 0 to 1; `source` says where it comes from, as who writes it chooses; dates are those of
    documents.
    """

    text: str
    confidence: float
    status: str
    source: dict[str, Any] = field(default_factory=dict)
    created_at: str = field(default_factory=units.now)
    updated_at: str = ""
    id: str = ""
    rev: str = ""

    @classmethod
    def from_document(cls, doc: Document) -> "Memory":
        metadata = doc["cozyMetadata"]
        return cls(
            text=doc["text"],
            confidence=doc["confidence"],
            status=doc["status"],
            source=doc["source"],
            created_at=metadata["createdAt"],
            updated_at=metadata["updatedAt"],
            id=doc["_id"],
            rev=doc["_rev"],
        )

    def attributes(self) -> Document:
        dates = {"createdAt": self.created_at, "updatedAt": self.updated_at or self.created_at}
        return {
            "text": self.text,
            "confidence": self.confidence,
            "status": self.status,
            "source": self.source,
            "cozyMetadata": {"doctypeVersion": "1", "metadataVersion": 1, **dates},
        }


def checked_text(text: Any) -> str:
    """Raises Invalid."""
    if not isinstance(text, str) or not text.strip():
        raise Invalid("text must be a text with at least one character that is no white space", "/text")
    if len(text.strip()) > LONGEST:
        raise Invalid(f"text must have at most {LONGEST} characters", "/text")
    return units.well_formed(text.strip())


def checked_confidence(confidence: Any) -> float:
    """Raises Invalid."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise Invalid("confidence must be a number from 0 to 1", "/confidence")
    return float(confidence)
