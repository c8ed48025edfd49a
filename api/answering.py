"""A question of a grounded surface: taken, and its answer told in the response."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from flask import Response, request

from api.answers import event_of, shaped, whole_of
from api.context import api, instance, json_body, require_chat, token
from api.event_stream import EventStream, doc_of, streamed
from api.usage import tell_left
from ragcore.chat.accept import accept_request
from ragcore.errors import Retryable
from ragcore.grounded.requests import AskRequest
from ragcore.questions import Question


def answered(parse: Callable[[Any], AskRequest]) -> Response:
    """200, the answer as it comes, or once it is whole where JSON is preferred; 429 for too many in a minute."""
    of = instance()
    require_chat()
    api().chat_limit.hit(token())
    asked = parse(json_body())
    _, question = accept_request(api().runtime, api().queue, of, asked.conversation_id, asked.request)
    return _answer(question)


def _answer(question: Question) -> Response:
    stream = EventStream(api().runtime, question)
    if not stream.open():
        raise Retryable("the events of the answer are lost")
    if _prefers_json():
        try:
            whole = whole_of(_events(stream))
        finally:
            stream.close()
        response = Response(f"{json.dumps(whole)}\n", content_type="application/json")
    else:
        response = streamed(stream, stream.pieces(shaped))
    # so a client that named no conversation can stop the answer
    response.headers["Content-Location"] = f"/api/rag/conversations/{quote(question.conversation_id, safe='')}"
    return tell_left(response)


def _events(stream: EventStream) -> Iterator[dict[str, Any]]:
    return (event for published in stream.events() if published and (event := event_of(doc_of(published.text))))


def _prefers_json() -> bool:
    accepted = request.accept_mimetypes
    return accepted["application/json"] > accepted["text/event-stream"]
