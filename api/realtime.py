"""GET /realtime/, the websocket, and POST /realtime/:doctype/:id (`contracts/cozy.md`, Realtime)."""

from flask import Flask, Response, request
from flask_sock import Sock
from simple_websocket import Server

from api.context import api, instance, json_body, permissions
from api.sockets import Socket
from ragcore.errors import Invalid
from ragcore.events import CHAT_EVENTS, Event
from ragcore.permissions import Forbidden

PROTOCOL = "io.cozy.websocket"
PING_EVERY = 30  # seconds: a peer that does not answer by the next ping is dropped
LARGEST_TOKEN = 64 * 1024  # bytes of a message


def init_app(app: Flask) -> None:
    app.config["SOCK_SERVER_OPTIONS"] = {
        "subprotocols": [PROTOCOL],
        "ping_interval": PING_EVERY,
        "max_message_size": LARGEST_TOKEN,
    }
    app.before_request(_may_open)
    Sock(app).route("/realtime/")(_realtime)
    app.post("/realtime/<doctype>/<doc_id>")(_notify)


def _may_open() -> None:
    """Before a websocket is opened: an unknown host gets its 404, a page of elsewhere its 403, like any request."""
    if request.path != "/realtime/":
        return
    instance()
    if not _is_welcome(request.origin):
        raise Forbidden("this origin may not open a websocket")
    # not negotiated: events are short, each compressor takes a quarter of a MiB, and a small frame may unfold to much
    request.environ.pop("HTTP_SEC_WEBSOCKET_EXTENSIONS", None)


def _is_welcome(origin: str | None) -> bool:
    """Only browsers tell an origin, and always do: what has none is no page of elsewhere, and needs its token."""
    config = api().runtime.config
    own = f"{config.scheme}://{request.host.lower()}"
    return origin is None or not config.origins or origin.lower() in (own, *config.origins)


def _realtime(websocket: Server) -> None:
    Socket(websocket, api().runtime, instance(), api().socket_limit).run()


def _notify(doctype: str, doc_id: str) -> Response:
    """Sends `data` of the body as a NOTIFIED event, without a document: 204."""
    of = instance()
    permissions().require("POST", doctype, doc_id)
    if doctype == CHAT_EVENTS:
        raise Forbidden("the events of answers are published by their workers alone")
    body = json_body()
    data = body.get("data") if isinstance(body, dict) else None
    if not isinstance(data, dict):
        raise Invalid("data must be an object", "/data")
    publisher = api().runtime.publisher
    publisher.publish(of.domain, Event("NOTIFIED", doctype, doc_id, data))
    publisher.flush()
    return Response(status=204)
