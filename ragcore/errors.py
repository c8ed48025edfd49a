"""Errors that carry what the caller decides on: raised low, decided high, once."""

from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_WAIT = 3600.0  # seconds that a server may ask for


class RagcoreError(Exception):
    """An error whose message is fit for people: no secret, no path, no stack trace in it. `code` is for programs."""

    code = ""


class NotFound(RagcoreError):
    """What was asked for does not exist (and that is known, not guessed)."""


class Conflict(RagcoreError):
    """A document was written by somebody else since it was read, or a name is taken."""


class Invalid(RagcoreError):
    """A bad input. `pointer` is the JSON pointer of the field (`/q`), empty for the whole body."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


class Unprocessable(Invalid):
    """An input that is well formed, with a value that cannot be taken."""


class Mismatch(RagcoreError):
    """What was said to be there is not: another revision, another checksum."""


class Refused(RagcoreError):
    """Refused for good: trying the same again cannot help."""


class Retryable(RagcoreError):
    """It may pass: a server that is away, a 5xx, a 429. `retry_after` is in seconds, if it was told."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Full(Retryable):
    """There is no room for it."""


class TooMany(RagcoreError):
    """A client asks for more than its share. `retry_after` is in seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unanswered(Retryable):
    """Nobody knows whether it was done: the connection failed once the request was under way."""


class Failed(RagcoreError):
    """A server behind us failed at what was asked of it; it is not done, and can be asked for again."""


def retry_after(header: str | None) -> float | None:
    """Seconds of a `Retry-After` header; None where it says none, or a date."""
    return min(float(header), LONGEST_WAIT) if header and header.isdecimal() else None


@contextmanager
def retryable(kind: type[Exception], message: str) -> Iterator[None]:
    """Errors of a kind inside the context, as Retryable with a message for people."""
    try:
        yield
    except kind as error:
        raise Retryable(message) from error
