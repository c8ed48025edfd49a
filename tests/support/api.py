"""A client of an instance's API, for tests."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import requests
import websocket

from deploy.cli import client as cli_client
from ragcore import loopback
from ragcore.documents import FILES
from ragcore.instances import Instance
from ragcore.permissions import create_token

Json = dict[str, Any]


class Client:
    def __init__(self, base_url: str, instance: Instance, scope: str = cli_client.SCOPE) -> None:
        self.base_url = base_url
        self.instance = instance
        self.token = create_token(instance, "cli", "test", scope)
        self._session = loopback.session()

    def request(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"} | kwargs.pop("headers", {})
        return self._session.request(method, self.base_url + path, headers=headers, timeout=30, **kwargs)

    def raw(self, method: str, path: str, body: Any = None) -> requests.Response:
        """A path as it is written, which requests would tidy up; redirections are followed."""
        request = requests.Request(method, self.base_url, json=body).prepare()
        request.url = f"{self.base_url}{path}?bearer_token={self.token}"
        return self._session.send(request, timeout=30)

    def post(self, conversation_id: str, body: Any) -> requests.Response:
        return self.request("POST", f"/ai/chat/conversations/{conversation_id}", json=body)

    def ask(self, q: str, conversation_id: str = "", **fields: Any) -> tuple[str, str]:
        """Posts a question: the ids of its conversation and of its message."""
        return cli_client.post_question(self.base_url, self.token, {"q": q, **fields}, conversation_id or None)

    def add_trigger(self, kind: str, arguments: str, **more: str) -> str:
        """Of index jobs: its id."""
        message = {"doctype": FILES}
        attributes = {"type": kind, "arguments": arguments, "worker": "rag-index", "message": message, **more}
        response = self.request("POST", "/jobs/triggers", json={"data": {"attributes": attributes}})
        assert response.status_code == 201, response.text
        made: str = response.json()["data"]["id"]
        return made

    def has_trigger(self, trigger_id: str) -> bool:
        """False for one that was due once, and has fired."""
        return self.request("GET", f"/jobs/triggers/{trigger_id}").status_code != 404

    def events(self, question_id: str) -> list[Json]:
        """The docs of all events of a question."""
        return list(cli_client.events(self.base_url, self.token, question_id))

    def stream(self, conversation_id: str, last_event_id: str = "", **params: str) -> "EventSource":
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        path = f"/ai/chat/conversations/{conversation_id}/events"
        return EventSource(self.request("GET", path, params=params, headers=headers, stream=True))

    def socket(self, *subscriptions: Json, token: str | None = None) -> "Websocket":
        return Websocket(self.base_url, token or self.token, subscriptions)


def question_of(response: requests.Response) -> str:
    """The id of the message that was posted."""
    question: str = response.json()["data"]["attributes"]["messages"][-1]["id"]
    return question


class EventSource:
    """Server-sent events as they come: pairs of `id` and `data`."""

    def __init__(self, response: requests.Response) -> None:
        self.response = response

    def __iter__(self) -> Iterator[tuple[str, Json]]:
        place = ""
        for line in self.response.iter_lines(chunk_size=1):
            name, _, value = line.decode().partition(": ")
            if name == "id":
                place = value
            elif name == "data":
                yield place, json.loads(value)

    def __enter__(self) -> "EventSource":
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()


class Websocket:
    """A websocket that has said AUTH and SUBSCRIBE."""

    def __init__(self, base_url: str, token: str, subscriptions: tuple[Json, ...]) -> None:
        url, host = loopback.resolve(f"{base_url}/realtime/")
        self.socket = websocket.create_connection(
            url.replace("http", "ws", 1),
            host=host,
            timeout=20,
            subprotocols=["io.cozy.websocket"],
            skip_utf8_validation=True,  # done byte by byte it takes a second for a large event; to decode validates too
        )
        self.send("AUTH", token)
        for subscription in subscriptions:
            self.send("SUBSCRIBE", subscription)

    def send(self, method: str, payload: Any) -> None:
        self.socket.send(json.dumps({"method": method, "payload": payload}))

    def sync(self) -> None:
        """Waits until everything that was sent is obeyed: commands are taken in order, this one too."""
        mark = uuid.uuid4().hex
        self.send("MARK", mark)
        while self.receive().get("payload", {}).get("source", {}).get("payload") != mark:
            pass

    def receive(self) -> Json:
        text = self.socket.recv()
        if not text:
            raise websocket.WebSocketConnectionClosedException
        message: Json = json.loads(text)
        return message

    def __iter__(self) -> Iterator[Json]:
        while True:
            yield self.receive()

    def __enter__(self) -> "Websocket":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
