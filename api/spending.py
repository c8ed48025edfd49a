"""The tokens of completions that are passed on: read from what goes by, by the LLM's figures where it tells them."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from flask import Response

from api.context import api, instance
from ragcore.budgets.spending import Call, not_now
from ragcore.errors import Retryable
from ragcore.openrag.completions import chunk_of_answer, chunks_of_stream

LARGEST_READ = 1 << 24  # bytes of an answer; what is behind is not counted


@dataclass(frozen=True)
class Passing:
    """A completion that is passed on; `ending` settles it. Without a plan nothing is read."""

    call: Call | None
    ending: ExitStack

    def counted(self, response: Response) -> Response:
        """The response, settled once it is through."""
        if self.call and response.status_code == 200:
            # what a request asks for in odd words, as `"stream": "false"`, its answer alone tells
            take = self._take_stream if response.mimetype == "text/event-stream" else self._take_whole
            response.response = _read(response.response, take)  # type: ignore[arg-type]
        response.call_on_close(self.ending.pop_all().close)
        return response

    def _take_stream(self, seen: list[bytes]) -> None:
        assert self.call  # noqa: S101
        for chunk in chunks_of_stream(seen):
            self.call.take(chunk)

    def _take_whole(self, seen: list[bytes]) -> None:
        assert self.call  # noqa: S101
        with suppress(Retryable):  # it is no completion
            self.call.take(chunk_of_answer(b"".join(seen)))


def _read(pieces: Iterable[bytes], take: Callable[[list[bytes]], None]) -> Iterator[bytes]:
    seen, size = list[bytes](), 0
    try:
        for piece in pieces:
            if size < LARGEST_READ:
                seen.append(piece)
                size += len(piece)
            yield piece
    finally:
        take(seen)


@contextmanager
def spending_of(body: dict[str, Any]) -> Iterator[Passing]:
    """Raises Spent, and Retryable while others' answers may use what is left."""
    budgets, of = api().runtime.budgets, instance()
    with ExitStack() as ending:
        spending = budgets.spending(of, uuid.uuid4().hex, time.time(), not_now)
        call = ending.enter_context(spending.call(body))
        yield Passing(call if budgets.of(of) else None, ending)
