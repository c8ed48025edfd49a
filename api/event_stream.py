"""The events of a question as server-sent events, for clients without websockets.

First the history, then the live events, no gap and no double; `id` is an event's place in the history.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from flask import Response

from api.outbox import Full, Outbox
from ragcore.events import CHAT_EVENTS, Published
from ragcore.events.event import order_of
from ragcore.events.history import START
from ragcore.questions import Question
from ragcore.runtime import Runtime

COMMENT_EVERY = 15.0  # seconds
_PLACE = re.compile(r"\d{1,19}-\d{1,19}", re.ASCII)

Shape = Callable[[str], str | None]  # of an event's text; None: it is not sent


def event_stream(runtime: Runtime, question: Question, last_event_id: str) -> Response:
    """204 when the history has nothing behind `last_event_id`, and nothing more will come. Raises Retryable."""
    after = last_event_id if _PLACE.fullmatch(last_event_id) else START
    stream = EventStream(runtime, question, after)
    return streamed(stream, stream.pieces()) if stream.open() else Response(status=204)


def streamed(stream: "EventStream", pieces: Iterator[str]) -> Response:
    """The pieces of a stream that is open: it is closed with the response."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    response = Response(pieces, content_type="text/event-stream", headers=headers)
    response.call_on_close(stream.close)
    return response


class EventStream:
    def __init__(self, runtime: Runtime, question: Question, after: str = START) -> None:
        self._runtime = runtime
        self._question = question
        self._subject = (CHAT_EVENTS, question.id)
        self._last = after
        self._live = Outbox()

    def open(self) -> bool:
        """Listens from now on. False when there is nothing to send, and nothing will come."""
        self._runtime.subscriber.add(self._question.domain, self._subject, self._on_event)
        try:
            if self._has_more():
                return True
        except BaseException:
            self.close()
            raise
        self.close()
        return False

    def _has_more(self) -> bool:
        return self._is_waiting() or next(self._history(), None) is not None

    def _is_waiting(self) -> bool:
        (state,) = self._runtime.questions.states([self._question])
        return state.is_waiting

    def _history(self) -> Iterator[Published]:
        return self._runtime.history.of_question(self._question.domain, self._question.id, self._last)

    def close(self) -> None:
        self._runtime.subscriber.remove(self._question.domain, self._subject, self._on_event)
        self._live.close()

    def pieces(self, shape: Shape = str) -> Iterator[str]:
        """Ends with the terminal event, or when the client is too slow."""
        yield ": events\n\n"  # the headers go out at once
        for event in self.events():
            if event is None:
                yield ": still here\n\n"
            elif (text := shape(event.text)) is not None:
                yield f"id: {event.place}\ndata: {text}\n\n"

    def events(self) -> Iterator[Published | None]:
        """Up to the terminal event; None after a while without any."""
        for event in self._all():
            if event:
                self._last = event.place
            yield event
            if event and _is_terminal(event.text):
                return

    def _all(self) -> Iterator[Published | None]:
        yield from self._history()
        while True:
            try:
                message = self._live.get(COMMENT_EVERY)
            except TimeoutError:
                if not self._is_waiting():  # longer than the sweep takes: nobody will end it any more
                    yield from self._history()
                    return
                yield None
                continue
            if message is None:
                return
            event = Published(self._question.domain, self._question.id, *message.split(" ", 1))
            if event.order > order_of(self._last):
                yield event

    def _on_event(self, event: Published) -> None:
        """Called by the subscriber's thread, which waits for nobody."""
        try:
            self._live.put(f"{event.place} {event.text}")
        except Full:
            self._live.close()


def doc_of(text: str) -> dict[str, Any]:
    doc: dict[str, Any] = json.loads(text)["payload"]["doc"]
    return doc


def _is_terminal(text: str) -> bool:
    if '"object":"done"' not in text and '"object":"error"' not in text:
        return False
    return doc_of(text).get("object") in ("done", "error")
