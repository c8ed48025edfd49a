"""The route of the agent: POST /api/agent/chat. Its conversations are those of api/rag.py."""

from functools import partial

from flask import Blueprint, Response

from api.answering import answered
from ragcore.agent import AGENT
from ragcore.grounded.requests import AskRequest

blueprint = Blueprint("agent", __name__, url_prefix="/api/agent")


@blueprint.post("/chat")
def chat() -> Response:
    """200, the answer as it comes, its tools first, or once it is whole where JSON is preferred; 429 for too many."""
    return answered(partial(AskRequest.parse, field="message", surface=AGENT))
