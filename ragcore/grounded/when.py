"""Dates of documents: those that were changed between two days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from ragcore.documents import FILES, File
from ragcore.errors import Invalid
from ragcore.instances import Instance
from ragcore.openrag import Passage
from ragcore.store import Store


@dataclass(frozen=True)
class When:
    """`since` is included, and so is `until`; None leaves that side open."""

    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def parse(cls, since: str, until: str) -> "When":
        """Of ISO 8601 dates, or dates with a time (UTC where there is no zone); `until` a date is its end. Raises
        Invalid."""
        return cls(_moment(since, "since", time.min), _moment(until, "until", time.max))

    def holds(self, date: str) -> bool:
        """Whether an ISO 8601 date of a document is inside. What has none is in no range."""
        if self == ALWAYS:
            return True
        try:
            moment = _aware(datetime.fromisoformat(date))
        except ValueError:
            return False
        return (self.since is None or moment >= self.since) and (self.until is None or moment <= self.until)

    def around(self) -> tuple[str, str]:
        """Between which texts the dates of documents are, whatever their zones: wider than this by a day or two."""
        since = self.since - timedelta(days=1) if self.since and self.since.year > 1 else None
        until = self.until + timedelta(days=2) if self.until and self.until.year < datetime.max.year else None
        return (since.date().isoformat() if since else "0", until.date().isoformat() if until else "9999")

    def passages(self, store: Store, instance: Instance, passages: Sequence[Passage]) -> list[Passage]:
        """Those of files that were last changed inside, in one request. Raises Retryable."""
        docs = store.get_many(instance, FILES, {passage.file_id for passage in passages})
        inside = {file_id for file_id, doc in docs.items() if self.holds(File.from_document(doc).updated_at)}
        return [passage for passage in passages if passage.file_id in inside]


ALWAYS = When()


def _moment(text: str, name: str, of_a_day: time) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"{name} must be a date, as 2026-01-31", f"/{name}") from None
    return _aware(datetime.combine(moment, of_a_day) if len(text) == len("2026-01-31") else moment)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
