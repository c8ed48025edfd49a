"""GET /status: whether this process can do its work."""

from flask import Blueprint, Response

from api.context import api
from api.errors import document

blueprint = Blueprint("status", __name__)


@blueprint.get("/status")
def status() -> Response:
    """200 when a heartbeat through Redis comes back to the subscription; 503 when the process has gone deaf."""
    api().runtime.subscriber.check()
    return document({"status": "OK"}, 200)
