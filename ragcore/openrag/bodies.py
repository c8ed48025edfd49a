"""The bodies of answers, piece by piece: none is read without a bound, or waited for without end."""

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
HELD_WITHIN = 300.0  # seconds for the body of an answer that is held in memory


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
    """Its `content` is the body, which no server can make larger, or longer to come, than a process can bear.

    Raises Unanswered.
    """
    deadline = time.monotonic() + HELD_WITHIN
    body = bytearray()
    with response:
        try:
            for piece in pieces_of(response, unpacked=True):
                body += piece
                if len(body) > MAX_EVENT or time.monotonic() > deadline:
                    raise Retryable("the answer of openRAG is too long")
        except Retryable as error:
            raise Unanswered(str(error)) from error
    response._content = bytes(body)  # requests has no other way to give it a body
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
            raise Retryable(f"an answer of more than {MAX_EVENT} bytes")
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
