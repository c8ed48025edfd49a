"""The routes of the AI: those of conversations, GET /ai/extract/:id, and POST /ai/index/status."""

import json

from flask import Blueprint, Response, request

from api.context import api, instance, json_body, permissions, require_chat, token
from api.errors import document
from api.event_stream import event_stream
from api.usage import tell_left
from ragcore.chat.accept import accept
from ragcore.chat.cancel import cancel as cancel_answer
from ragcore.chat.conversations import attributes_of, find_question
from ragcore.documents import CONVERSATIONS
from ragcore.errors import Failed, Retryable
from ragcore.indexing.status import Callback, check_token

blueprint = Blueprint("ai", __name__, url_prefix="/ai")
LARGEST_CALLBACK = 1 << 20  # bytes: anybody may send one, and while it is parsed nobody else is served


@blueprint.post("/chat/conversations/<conversation_id>")
def chat(conversation_id: str) -> Response:
    """Saves the message and enqueues its answer: 202, the conversation; 429 for too many in a minute."""
    of = instance()
    require_chat()
    api().chat_limit.hit(token())
    doc = accept(api().runtime, api().queue, of, conversation_id, json_body())
    data = {"type": CONVERSATIONS, "id": doc["_id"], "rev": doc["_rev"], "attributes": attributes_of(doc)}
    return tell_left(document({"data": data}, 202))


@blueprint.post("/chat/conversations/<conversation_id>/cancel")
def cancel(conversation_id: str) -> Response:
    """Stops the answer to the last message: 204, also when there is nothing to stop."""
    of = instance()
    permissions().require("POST", CONVERSATIONS)
    cancel_answer(api().runtime, api().queue, of, conversation_id)
    return Response(status=204)


@blueprint.get("/chat/conversations/<conversation_id>/events")
def events(conversation_id: str) -> Response:
    """The events of the last question, or of `?message=`, as server-sent events; 204 when none is left to send."""
    of = instance()
    require_chat()
    question = find_question(api().runtime.store, of, conversation_id, request.args.get("message", ""))
    return event_stream(api().runtime, question, request.headers.get("Last-Event-ID", ""))


@blueprint.get("/extract/<passage_id>")
def extract(passage_id: str) -> Response:
    """200, a passage that an answer was made from, as openRAG gives it; 404 for one of elsewhere."""
    of = instance()
    require_chat()
    try:
        passage = api().runtime.openrag(of).passage(passage_id)
    except Retryable as error:
        raise Failed(str(error)) from error
    return Response(f"{json.dumps(passage)}\n", content_type="application/json")


@blueprint.post("/index/status")
def index_status() -> Response:
    """The callback of openRAG's indexing tasks: 204, 400 for one that is not of this instance, 401, 413, or 500."""
    of, runtime = instance(), api().runtime
    callback = Callback.parse(json_body(LARGEST_CALLBACK), of.domain)
    check_token(of, callback, token(), runtime.config.index_status.require_token)
    api().reports.receive(of, callback)
    return Response(status=204)
