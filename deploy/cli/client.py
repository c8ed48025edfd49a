"""A client of the API, as `ragcore ask` and the demo use it: posts a question, follows its events."""

import json
import socket
import ssl
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import requests
import websocket

from ragcore import loopback
from ragcore.documents import ASSISTANTS, CONVERSATIONS, FILES, MEMORIES, STATUSES
from ragcore.errors import RagcoreError
from ragcore.events import CHAT_EVENTS
from ragcore.instances import Instance
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.permissions import create_token

SCOPE = f"{CONVERSATIONS} {FILES}:GET {CHAT_EVENTS}"
PAGE_SCOPE = f"{CONVERSATIONS} {FILES} {ASSISTANTS} {STATUSES}:GET {JOBS}:GET,POST {CHAT_EVENTS} {MEMORIES}"
SILENCE = 360.0  # seconds without an event: a little more than a worker waits for openRAG
TIMEOUT = 30.0  # seconds of a request

Json = dict[str, Any]


def page_link(base_url: str, instance: Instance) -> str:
    """Opens the page of an instance, signed in for 7 days. What follows the # is sent to no server."""
    return f"{base_url}/#token={create_token(instance, 'access', 'page', PAGE_SCOPE)}"


def post_question(base_url: str, token: str, body: Json, conversation_id: str | None = None) -> tuple[str, str]:
    """The ids of the conversation and of the question. Raises RagcoreError with what the API said."""
    conversation_id = conversation_id or uuid.uuid4().hex
    url = f"{base_url}/ai/chat/conversations/{quote(conversation_id, safe='')}"
    try:
        response = loopback.session().post(
            url, json=body, headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT
        )
        answer = response.json()
    except (requests.RequestException, ValueError) as error:
        raise RagcoreError(f"the API at {base_url} does not answer ({type(error).__name__})") from None
    if response.status_code != 202:
        raise RagcoreError("; ".join(error["detail"] for error in answer["errors"]))
    return conversation_id, answer["data"]["attributes"]["messages"][-1]["id"]


def events(base_url: str, token: str, question_id: str) -> Iterator[Json]:
    """The `doc` of each event of a question, from the first to `done` or `error`."""
    url, host = loopback.resolve(f"{base_url}/realtime/")
    try:
        opened = websocket.create_connection(
            url.replace("http", "ws", 1),
            host=host,
            timeout=SILENCE,
            subprotocols=["io.cozy.websocket"],
            suppress_origin=True,
            redirect_limit=0,  # the token is for this host alone
            socket=_connected(url),
        )
        try:
            _send(opened, "AUTH", token)
            _send(opened, "SUBSCRIBE", {"type": CHAT_EVENTS, "id": question_id})
            yield from _until_the_end(opened)
        finally:
            opened.close()
    except (OSError, websocket.WebSocketException) as error:
        raise RagcoreError(f"the websocket of {base_url} broke off ({type(error).__name__})") from None


def _connected(url: str) -> socket.socket:
    """Without a proxy of the environment, which `websocket` would let in between."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    made = socket.create_connection((parts.hostname, parts.port or (443 if secure else 80)), timeout=SILENCE)
    return ssl.create_default_context().wrap_socket(made, server_hostname=parts.hostname) if secure else made


def _send(opened: websocket.WebSocket, method: str, payload: Any) -> None:
    opened.send(json.dumps({"method": method, "payload": payload}))


def _until_the_end(opened: websocket.WebSocket) -> Iterator[Json]:
    while True:
        text = opened.recv()
        if not text:
            raise websocket.WebSocketConnectionClosedException
        message = json.loads(text)
        if message["event"] == "error":
            raise RagcoreError(message["payload"]["title"])
        doc = message["payload"]["doc"]
        yield doc
        if doc["object"] in ("done", "error"):
            return
