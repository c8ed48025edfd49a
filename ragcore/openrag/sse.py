"""Server-sent events out of the bytes of a response.

Lines end with `\\n` or `\\r\\n` of the bytes: what else Unicode takes for a line end (U+2028, U+0085) is text.
"""

from collections.abc import Iterable, Iterator

from ragcore.errors import Retryable

MAX_EVENT = 16 << 20  # bytes


class EventTooLarge(Retryable):
    """An event is larger than `MAX_EVENT`: the stream is taken for broken off."""


def data_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """The `data` of each event that has some, its lines joined by `\\n`; comments and other fields are left out.

    What the end of the stream cuts off is given as well: whether it is whole is for the reader to say.
    Raises EventTooLarge.
    """
    data: list[bytes] = []
    size = 0
    for line in _lines(pieces):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            size += len(line)
        elif not line and data:
            yield _text(data)
            data, size = [], 0
        if size > MAX_EVENT:
            raise EventTooLarge(f"an event of more than {MAX_EVENT} bytes")
    if data:
        yield _text(data)


def _text(lines: list[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", errors="replace")


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for piece in pieces:
        *ended, last = piece.split(b"\n")
        for end in ended:
            yield bytes(rest + end).removesuffix(b"\r")
            rest.clear()
        rest += last
        if len(rest) > MAX_EVENT:
            raise EventTooLarge(f"a line of more than {MAX_EVENT} bytes")
    if rest:
        yield bytes(rest).removesuffix(b"\r")
