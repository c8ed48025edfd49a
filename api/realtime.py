"""GET /realtime/: the websocket (`contracts/cozy.md`, Realtime)."""

from flask import Flask, request
from flask_sock import Sock
from simple_websocket import Server

from api.context import api, instance
from api.sockets import Socket
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


def _may_open() -> None:
    """Before a websocket is opened: an unknown host gets its 404, a page of elsewhere its 403, like any request."""
    if request.path != "/realtime/":
        return
    instance()
    origins = api().runtime.config.origins
    if origins and request.origin not in origins:
        raise Forbidden("this origin may not open a websocket")


def _realtime(websocket: Server) -> None:
    Socket(websocket, api().runtime, instance()).run()
