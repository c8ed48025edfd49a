"""The routes of grounded answers: POST /api/rag/ask, and the conversations and sources of all surfaces."""

import json
from typing import Any

from flask import Blueprint, Response, request

from api.answering import answered
from api.context import api, instance, json_body, permissions
from ragcore.chat.cancel import cancel
from ragcore.documents import CONVERSATIONS
from ragcore.errors import Invalid
from ragcore.grounded.conversations import Conversations
from ragcore.grounded.requests import AskRequest, title_in

blueprint = Blueprint("rag", __name__, url_prefix="/api/rag")
PAGE, LARGEST_PAGE = 20, 100


@blueprint.post("/ask")
def ask() -> Response:
    """200, the answer as it comes, or once it is whole where JSON is preferred; 429 for too many in a minute."""
    return answered(AskRequest.parse)


@blueprint.get("/conversations")
def conversations() -> Response:
    """200, those of all surfaces, a page at a time, the newest first."""
    of = instance()
    permissions().require("GET", CONVERSATIONS)
    found = Conversations(api().runtime, of).page(_limit(), request.args.get("bookmark", ""))
    return _json(found)


@blueprint.get("/conversations/<conversation_id>")
def conversation(conversation_id: str) -> Response:
    """200, with its messages."""
    of = instance()
    permissions().require("GET", CONVERSATIONS, conversation_id)
    return _json(Conversations(api().runtime, of).get(conversation_id))


@blueprint.patch("/conversations/<conversation_id>")
def rename(conversation_id: str) -> Response:
    """200, with the title that it is given."""
    of = instance()
    permissions().require("PATCH", CONVERSATIONS, conversation_id)
    return _json(Conversations(api().runtime, of).rename(conversation_id, title_in(json_body())))


@blueprint.delete("/conversations/<conversation_id>")
def delete(conversation_id: str) -> Response:
    """204; an answer that is under way is stopped."""
    of = instance()
    permissions().require("DELETE", CONVERSATIONS, conversation_id)
    cancel(api().runtime, api().queue, of, conversation_id)
    Conversations(api().runtime, of).delete(conversation_id)
    return Response(status=204)


@blueprint.get("/sources")
def sources() -> Response:
    """200, what the last answers cite, of all conversations."""
    of = instance()
    permissions().require("GET", CONVERSATIONS)
    return _json({"sources": Conversations(api().runtime, of).sources(_limit())})


def _limit() -> int:
    """Raises Invalid."""
    text = request.args.get("limit", str(PAGE))
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):
        raise Invalid("limit must be a number of 1 or more")
    return min(int(text), LARGEST_PAGE)


def _json(body: dict[str, Any]) -> Response:
    return Response(f"{json.dumps(body)}\n", content_type="application/json")
