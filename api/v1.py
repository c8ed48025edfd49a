"""The routes for the clients of OpenAI's API: POST /v1/chat/completions, and GET /v1/models.

Those under /ai/v1, which pass a request on to openRAG, have nothing to do with them.
"""

import json
import logging
import uuid
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from flask import Blueprint, Response, request

from api.answers import event_of, whole_of
from api.completions import Completion, as_openai, model_list
from api.context import api, instance, json_body, require_chat, token
from api.event_stream import EventStream, doc_of, streamed
from api.usage import tell_left
from ragcore.chat.accept import accept_request
from ragcore.chat.cancel import stop
from ragcore.errors import RagcoreError, Retryable
from ragcore.questions import Question
from ragcore.v1.models import Models
from ragcore.v1.requests import CompletionRequest

log = logging.getLogger(__name__)

blueprint = Blueprint("v1", __name__, url_prefix="/v1")
STOPPED = {"type": "error", "message": "the answer was stopped", "code": "stopped"}

Json = dict[str, Any]


@blueprint.get("/models")
def models() -> Response:
    """200, those that questions can be asked of. Who may chat may name any of them."""
    of = instance()
    require_chat()
    return _json(model_list(Models(api().runtime.store, of).all(), of.domain))


@blueprint.post("/chat/completions")
def completions() -> Response:
    """200, the answer as it comes, or once it is whole; 429 for too many in a minute."""
    of = instance()
    require_chat()
    api().chat_limit.hit(token())
    asked = CompletionRequest.parse(json_body())
    known = Models(api().runtime.store, of)
    model = known.get(asked.model)
    if asked.conversation_id:
        known.check_conversation(model, asked.conversation_id)
    conversation_id = asked.conversation_id or uuid.uuid4().hex
    _, question = accept_request(api().runtime, api().queue, of, conversation_id, asked.question(model.assistant_id))
    told = Told(question)
    completion = Completion(question, model.id)
    return tell_left(told.streamed(completion, asked.include_usage) if asked.stream else told.whole(completion))


class Told:
    """The events of an answer, up to `saved` or `error`; None is a while without any."""

    def __init__(self, question: Question) -> None:
        """Raises Retryable."""
        runtime, queue = api().runtime, api().queue
        self._stop: Callable[[], None] = lambda: stop(runtime, queue, question)
        self._stream = EventStream(runtime, question)
        self._ended = False
        if not self._stream.open():
            raise Retryable("the events of the answer are lost")

    def whole(self, completion: Completion) -> Response:
        """Raises what the error event says."""
        try:
            return _json(completion.whole(whole_of(event for event in self._events() if event)))
        finally:
            self._stream.close()

    def streamed(self, completion: Completion, include_usage: bool) -> Response:
        """An error that comes first is the response's, as clients expect it: what it begins with is waited for, as
        long as a proxy waits. Raises it."""
        events = self._events()
        try:
            first = next(events)
            if first and first["type"] == "error":
                whole_of([first])
        except BaseException:
            self._stream.close()
            raise
        response = streamed(self._stream, completion.chunks(chain([first], events), include_usage))
        response.call_on_close(self._left)
        return response

    def _events(self) -> Iterator[Json | None]:
        for published in self._stream.events():
            event = event_of(doc_of(published.text)) if published else None
            self._ended = event is not None and event["type"] in ("saved", "error")
            if event or published is None:
                yield event
            if self._ended:
                return
        yield STOPPED

    def _left(self) -> None:
        """Nobody else can read the answer of a client that went away in the middle of it."""
        if self._ended:
            return
        try:
            self._stop()
        except RagcoreError as error:
            log.warning("an answer that nobody reads goes on: %s", error)


@blueprint.after_app_request
def _shaped(response: Response) -> Response:
    """Also what is refused before a route is found."""
    return as_openai(response) if request.path.startswith("/v1/") else response


def _json(body: Json) -> Response:
    return Response(f"{json.dumps(body)}\n", content_type="application/json")
