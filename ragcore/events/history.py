"""The histories: Redis streams, named here and nowhere else."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import retryable
from ragcore.events.event import Event, Published

KEPT = 15 * 60  # seconds
LENGTH = 100_000  # events of one question
LENGTH_OF_REST = 256  # events of an instance that belong to no question, fewer where they are large
SIZE_OF_REST = 16 << 20  # bytes

REVISION_KEPT = 10 * 60  # seconds

PAGE = 1000
START = "0-0"


def channel(domain: str) -> str:
    return f"ragcore:events:{{{domain}}}"


def history_key(domain: str, question: str) -> str:
    """The stream of a question, or, for an empty `question`, of the rest of the instance."""
    return f"ragcore:history:{{{domain}}}:{question}"


def active_key(domain: str) -> str:
    """The sorted set of the questions that had events, scored with the time of the last, in milliseconds."""
    return f"ragcore:active:{{{domain}}}"


def revision_key(domain: str, event: Event) -> str:
    """What says that the write of this revision was announced."""
    return f"ragcore:revision:{{{domain}}}:{event.type}:{event.id}:{event.rev}"


def length_of_rest(text: str) -> int:
    """How many events an instance's own history keeps, if all were as large as this one."""
    return min(LENGTH_OF_REST, max(SIZE_OF_REST // len(text), 1))


def _told() -> AbstractContextManager[None]:
    return retryable(RedisError, "the history of events cannot be read: Redis does not answer")


class History:
    """Reads what was published. Raises Retryable.

    A place is a stream's id; the places of one Redis server are ordered by its clock.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def of_question(self, domain: str, question: str, after: str = START) -> Iterator[Published]:
        """What was published for a question after a place, a page at a time."""
        while page := self._page(history_key(domain, question), after):
            events = _published(domain, question, page)
            yield from events
            after = events[-1].place

    def _page(self, key: str, after: str) -> Any:
        with _told():
            return self._redis.xrange(key, f"({after}", count=PAGE)

    def now(self) -> str:
        """The place that what is published from now on comes after."""
        with _told():
            seconds, microseconds = self._redis.time()
        return f"{seconds * 1000 + microseconds // 1000}-0"

    def missed(self, domain: str, since: str, seen: Mapping[str, str]) -> list[Published]:
        """All events of an instance, in order, that come after `since`, or for a history in `seen` after the
        place seen there: two round trips."""
        earliest = int(since.partition("-")[0])
        with _told(), self._redis.pipeline(transaction=False) as pipe:
            active = self._redis.zrangebyscore(active_key(domain), earliest, "+inf")
            for question in ["", *active]:
                pipe.xrange(history_key(domain, question), f"({seen.get(question, since)}")
            found = pipe.execute()
        events = [e for question, rows in zip(["", *active], found, strict=True)
                  for e in _published(domain, question, rows)]  # fmt: skip
        return sorted(events, key=lambda event: event.order)


def _published(domain: str, question: str, rows: Any) -> list[Published]:
    return [Published(domain, question, place, fields["e"]) for place, fields in rows]
