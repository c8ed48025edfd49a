"""The bodies of answers, piece by piece: none is read without a bound, or waited for without end."""

import math
import time
from collections.abc import Iterator
from contextlib import suppress

import requests
from urllib3.exceptions import HTTPError

from ragcore.aborting import Abortable
from ragcore.errors import Retryable, Unanswered
from ragcore.openrag.errors import LARGEST
from ragcore.openrag.sse import MAX_EVENT

PIECE = 65536  # bytes
READ_WITHIN = 300.0  # seconds for a part of a long list


def pieces_of(response: requests.Response, unpacked: bool = False) -> Iterator[bytes]:
    """The body as it comes: without a wait for a full buffer, chunked or not."""
    try:
        if response.raw.chunked:
            yield from response.raw.stream(PIECE, decode_content=unpacked)
        else:
            while piece := response.raw.read1(PIECE, decode_content=unpacked):
                yield piece
    except (HTTPError, OSError, ValueError) as error:
        raise Retryable(f"the stream of openRAG broke off ({type(error).__name__})") from error


def held(response: requests.Response) -> requests.Response:
    """Its `content` is the body, which no server can make larger than a process can bear. Raises Unanswered."""
    try:
        response._content = whole_of(pieces_of(response, unpacked=True))  # requests has no other way to give it a body
    except Retryable as error:
        raise Unanswered(str(error)) from error
    return response


def beginning_of(pieces: Iterator[bytes]) -> bytes:
    """Of the body of an error: what there is of it."""
    body = bytearray()
    with suppress(Retryable):
        while len(body) < LARGEST and (piece := next(pieces, None)):
            body += piece
    return bytes(body[:LARGEST])


def whole_of(pieces: Iterator[bytes]) -> bytes:
    """Raises Retryable, also for more than an event of a stream may hold."""
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > MAX_EVENT:
            raise Retryable(f"the answer of openRAG is too long: more than {MAX_EVENT} bytes")
    return bytes(body)


def until(deadline: float, silence: float, call: Abortable, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """A server that only pings is not read for ever, nor is one that fell silent waited for beyond the deadline."""
    call.set_timeout(silence)
    while (left := deadline - time.monotonic()) > 0:
        if left < silence:
            call.set_timeout(left)
        piece = next(pieces, None)
        if piece is None:
            return
        yield piece
    raise Retryable("the answer takes too long")


class Unhurried:
    """The body of a list that is worked through while it is read: its time counts only while it is waited for."""

    def __init__(self, response: requests.Response, call: Abortable) -> None:
        self._raw = response.raw
        self._raw.decode_content = True
        self._call = call

    def read(self, size: int = -1) -> bytes:
        self._call.abort_after(READ_WITHIN)
        part: bytes = self._raw.read(size)
        self._call.abort_after(math.inf)
        return part
