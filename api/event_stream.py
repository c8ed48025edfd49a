"""The events of a question as server-sent events, for clients without websockets.

First the history, then the live events, no gap and no double; `id` is an event's place in the history.
"""

import json
import re
from collections.abc import Iterator

from flask import Response

from api.outbox import Full, Outbox
from ragcore.events import CHAT_EVENTS, Published
from ragcore.events.event import order_of
from ragcore.events.history import START
from ragcore.questions import Question
from ragcore.runtime import Runtime

COMMENT_EVERY = 15.0  # seconds
_PLACE = re.compile(r"\d{1,19}-\d{1,19}", re.ASCII)


def event_stream(runtime: Runtime, question: Question, last_event_id: str) -> Response:
    """204 when the history has nothing behind `last_event_id`, and nothing more will come. Raises Retryable."""
    after = last_event_id if _PLACE.fullmatch(last_event_id) else START
    stream = EventStream(runtime, question, after)
    if not stream.open():
        return Response(status=204)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    response = Response(stream.pieces(), content_type="text/event-stream", headers=headers)
    response.call_on_close(stream.close)
    return response


class EventStream:
    def __init__(self, runtime: Runtime, question: Question, after: str) -> None:
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

    def pieces(self) -> Iterator[str]:
        """Ends with the terminal event, or when the client is too slow."""
        yield ": events\n\n"  # the headers go out at once
        for event in self._events():
            if event is None:
                yield ": still here\n\n"
                continue
            self._last = event.place
            yield f"id: {event.place}\ndata: {event.text}\n\n"
            if _is_terminal(event.text):
                return

    def _events(self) -> Iterator[Published | None]:
        """None after a while without any."""
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


def _is_terminal(text: str) -> bool:
    if '"object":"done"' not in text and '"object":"error"' not in text:
        return False
    return json.loads(text)["payload"]["doc"].get("object") in ("done", "error")
