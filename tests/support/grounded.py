"""An instance with documents of two folders, and its grounded answers, for tests."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document
from tests.support.api import Client, EventSource
from tests.support.files import Drive, new_instance
from tests.support.indexing import Indexer

Json = dict[str, Any]

CHAPTERS = [
    f"Chapter {n}. " + "The pipes of the house are old and run through all of its rooms. " * 10
    + f"To reset the boiler for the time number {n}, hold the red button for five seconds. "
    + "The valves of the house are new and nobody has opened any of them. " * 5
    for n in (1, 2, 3)
]  # fmt: skip
# no name has a word of the questions: a passage would be found by it alone, in some company of other tests' files
FILES_OF = {
    "/Home/heating.md": "\n\n".join(CHAPTERS),
    "/Home/stove.txt": "The wood stove stands beside the boiler. There is nothing to reset on it.",
    "/Home/garden.txt": "Tomatoes are planted in May. The garden needs water every evening.",
    "/Private/key.txt": "The key of the boiler lies under the fourth flowerpot.",
}


@dataclass
class Library:
    client: Client
    drive: Drive
    files: dict[str, Document]
    home: str  # the assistant of /Home

    @property
    def instance(self) -> Instance:
        return self.client.instance

    def id_of(self, path: str) -> str:
        file_id: str = self.files[path]["_id"]
        return file_id

    def post(self, question: Any, headers: Any = None, **body: Any) -> Any:
        return self._post("/api/rag/ask", headers, question=question, **body)

    def post_to_agent(self, message: Any, headers: Any = None, **body: Any) -> Any:
        return self._post("/api/agent/chat", headers, message=message, **body)

    def _post(self, path: str, headers: Any, **body: Any) -> Any:
        return self.client.request("POST", path, json=body, headers=headers or {}, stream=True)

    def ask(self, question: str, conversation_id: str = "", **body: Any) -> list[Json]:
        """The events of an answer."""
        return self._events(self.post(question, **_named(conversation_id), **body))

    def tell(self, message: str, conversation_id: str = "", **body: Any) -> list[Json]:
        """The events of a turn of the agent."""
        return self._events(self.post_to_agent(message, **_named(conversation_id), **body))

    def _events(self, response: Any) -> list[Json]:
        assert response.status_code == 200, response.text
        assert response.headers["Content-Type"] == "text/event-stream"
        with EventSource(response) as source:
            return [event for _, event in source]

    def whole(self, question: str, **body: Any) -> Json:
        response = self.post(question, {"Accept": "application/json"}, **body)
        assert response.status_code == 200, response.text
        answer: Json = response.json()
        return answer

    def saved(self, events: list[Json]) -> list[Json]:
        """The messages of the conversation that the events are of."""
        (conversation,) = [event["conversation"] for event in events if event["type"] == "saved"]
        store = self.drive.runtime.store
        messages: list[Json] = store.get(self.instance, CONVERSATIONS, conversation["id"])["messages"]
        return messages


def library(runtime: Runtime, until: Callable[..., Any]) -> Library:
    instance = new_instance(runtime, f"library{time.time_ns()}")
    drive = Drive(runtime, instance)
    files = {path: drive.file(path, content) for path, content in FILES_OF.items()}
    home = drive.assistant(drive.folder("/Home"), prompt="You are a pirate.")
    drive.assistant(drive.folder("/Private"))
    Indexer(runtime, instance, until).read_feed(*files.values())
    return Library(Client(runtime.config.public_url(instance.domain), instance, "io.cozy.*"), drive, files, home)


def _named(conversation_id: str) -> Json:
    return {"conversationId": conversation_id} if conversation_id else {}


def text_of(events: list[Json]) -> str:
    return "".join(event["text"] for event in events if event["type"] == "delta")


def kinds(events: list[Json]) -> list[str]:
    """In their order, each once."""
    return list(dict.fromkeys(event["type"] for event in events))


def sources_of(events: list[Json]) -> list[Json]:
    return [source for event in events if event["type"] == "sources" for source in event["sources"]]


def tools_of(events: list[Json]) -> list[Json]:
    return [event["tool"] for event in events if event["type"] == "tool"]


def calls(*called: tuple[str, Json]) -> Json:
    """An item of a script: the LLM calls tools, each by its name and with its arguments."""
    fragments = [
        {
            "index": n,
            "id": f"id-{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for n, (name, arguments) in enumerate(called)
    ]
    return {"delta": {"tool_calls": fragments}}


def used(prompt: int, completion: int) -> Json:
    """An item of a script: the LLM's last chunk, with the tokens that it counted."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {"chunk": {"object": "chat.completion.chunk", "choices": [], "usage": usage}}
