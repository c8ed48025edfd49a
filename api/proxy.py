"""Routes that are passed on to openRAG: what it answers comes back as it comes (the seed, openRAG)."""

import json
from collections.abc import Iterator
from typing import Any

from flask import Blueprint, Response, request

from api.context import api, body_is_streamed, instance, json_body, require_chat
from api.spending import spending_of
from api.usage import tell_left
from ragcore.errors import Invalid
from ragcore.openrag.bodies import pieces_of
from ragcore.openrag.names import models_of
from ragcore.permissions import Forbidden
from ragcore.units import is_web_url

blueprint = Blueprint("proxy", __name__, url_prefix="/ai/v1")
HOP_BY_HOP = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
              "transfer-encoding", "upgrade"}  # fmt: skip
THEIRS = {"date", "server", "set-cookie"}  # of their server, not of ours
PIECE = 65536  # bytes


@blueprint.post("/chat/completions")
def completions() -> Response:
    """The OpenAI API's. The body is written again: what was checked is what is sent on."""
    require_chat()
    body = json_body()
    _check_model(body)
    _check_override(body)
    with spending_of(body) as spending:
        passed_on = _passed_on("v1/chat/completions", json.dumps(body).encode(), "application/json")
        return tell_left(spending.counted(passed_on))


@blueprint.post("/tools/execute")
def execute() -> Response:
    """The upload is not held: a piece that has come is sent on."""
    require_chat()
    body_is_streamed()
    return _passed_on("v1/tools/execute", _Upload(), request.headers.get("Content-Type", ""))


class _Upload:
    """The request's body, for requests to send: with its length where that is known."""

    def __iter__(self) -> Iterator[bytes]:
        while piece := request.stream.read(PIECE):
            yield piece

    def __len__(self) -> int:
        return request.content_length or 0

    def __bool__(self) -> bool:
        return True  # requests leaves a body out that is false


def _check_model(body: Any) -> None:
    """None, or the instance's own. Raises Invalid, Forbidden."""
    if not isinstance(body, dict):
        raise Invalid("the body must be an object")
    model = body.get("model") or ""
    if not isinstance(model, str):
        raise Invalid("model must be a text", "/model")
    if model and model not in models_of(instance().domain):
        raise Forbidden("this model is not of this instance")


def _check_override(body: Any) -> None:
    """As of an account: openRAG reads no file, and speaks no other protocol, for a client. Raises Invalid."""
    metadata = body.get("metadata")
    override = metadata.get("llm_override") if isinstance(metadata, dict) else None
    base_url = override.get("base_url") if isinstance(override, dict) else None
    if base_url and not is_web_url(base_url):
        raise Invalid("base_url must be an http or https URL", "/metadata/llm_override/base_url")


def _passed_on(path: str, data: Any, content_type: str) -> Response:
    """Status, body and headers are openRAG's own. Raises Failed when it does not answer."""
    headers = {"Content-Type": content_type, "Accept": request.headers.get("Accept", "*/*")}
    response = api().runtime.openrag(instance()).pass_on(path, data, headers)
    kept = [(name, value) for name, value in response.headers.items() if name.lower() not in HOP_BY_HOP | THEIRS]
    answer = Response(pieces_of(response), response.status_code, [*kept, ("X-Accel-Buffering", "no")])
    answer.call_on_close(response.close)
    return answer
