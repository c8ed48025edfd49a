"""The stand-in openRAG as a real process, and a client of one partition of it."""

import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

Json = dict[str, Any]
DEADLINE = 15.0


def wait_for(condition: Callable[[], Any], deadline: float = DEADLINE) -> Any:
    """What `condition` returns once it is true."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.02)
    return value


@dataclass
class Server:
    url: str
    process: subprocess.Popen[bytes]
    session: requests.Session

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        return self.session.request(method, f"{self.url}{path}", timeout=20, **options)

    def control(self, method: str, path: str, body: Any = None, /, **params: str) -> Any:
        response = self.call(method, f"/_sandbox/{path}", json=body, params=params)
        response.raise_for_status()
        return response.json() if response.content else None

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


@dataclass
class Client:
    """Calls on one partition, which exists."""

    server: Server
    partition: str

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        """`{p}` in the path is the partition."""
        return self.server.call(method, path.replace("{p}", quote(self.partition)), **options)

    def upload(
        self,
        file_id: str,
        content: str | bytes,
        name: str = "note.txt",
        method: str = "POST",
        metadata: Any = None,
        **fields: str,
    ) -> requests.Response:
        path = f"/indexer/partition/{{p}}/file/{quote(file_id, safe='')}"
        form = {"metadata": json.dumps(metadata or {}), **fields}
        return self.call(method, path, files={"file": (name, content)}, data=form)

    def index(self, file_id: str, content: str | bytes, name: str = "note.txt", **fields: Any) -> None:
        """An upload and the end of its task."""
        response = self.upload(file_id, content, name, **fields)
        assert response.status_code in (201, 202), response.text
        assert self.end_of(response) == "COMPLETED"

    def end_of(self, response: requests.Response) -> str:
        url = response.json()["task_status_url"]

        def ended() -> str | None:
            state: str = self.server.session.get(url, timeout=20).json()["task_state"]
            return state if state in ("COMPLETED", "FAILED", "CANCELLED") else None

        state: str = wait_for(ended)
        return state

    def get(self, file_id: str) -> requests.Response:
        return self.call("GET", f"/partition/{{p}}/file/{quote(file_id, safe='')}")

    def workspace(self, workspace_id: str) -> None:
        body = {"workspace_id": workspace_id, "display_name": workspace_id}
        assert self.call("POST", "/partition/{p}/workspaces", json=body).status_code == 201

    def members(self, workspace_id: str) -> list[str]:
        ids: list[str] = self.call("GET", f"/partition/{{p}}/workspaces/{workspace_id}/files").json()["file_ids"]
        return ids

    def chat(self, question: str = "hello", **body: Any) -> requests.Response:
        """A completion on the partition; a message list may be given in place of the question."""
        whole = {
            "model": f"openrag-{self.partition}",
            "messages": [{"role": "user", "content": question}],
            **body,
        }
        return self.call("POST", "/v1/chat/completions", json=whole, stream=whole.get("stream", False))

    def script(self, *items: Json, **more: Any) -> None:
        self.server.control("POST", "llm", {"script": list(items), **more})

    def calls(self, route: str = "", method: str = "") -> list[Json]:
        calls: list[Json] = self.server.control("GET", "calls", route=route, method=method)["calls"]
        return calls


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start_server(data: Path, environment: dict[str, str]) -> Server:
    port = free_port()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "deploy.sandbox", "--port", str(port), "--data", str(data)],
        env={**clean, **environment},
        stderr=subprocess.DEVNULL,
    )
    server = Server(f"http://127.0.0.1:{port}", process, requests.Session())

    def answers() -> bool:
        assert process.poll() is None, "the server stopped at its start"
        try:
            return server.call("GET", "/health_check").ok
        except requests.ConnectionError:
            return False

    wait_for(answers)
    return server


def new_client(server: Server) -> Client:
    client = Client(server, f"{uuid.uuid4().hex[:8]}.example.org")
    assert client.call("POST", "/partition/{p}").status_code == 201
    return client


SETTINGS: Json = {
    "index_delay": 0,
    "call_delay": 0,
    "context_size": 131_072,
    "word_delay": 0.001,
    "swap": [],
    "max_file_size": None,
    "quota": None,
    "put_workspaces": "keep",
    "legacy": False,
    "global_workspace_ids": False,
}


def read_events(response: requests.Response) -> list[Json | str]:
    """The data of each server-sent event, `[DONE]` as text."""
    texts = [block.removeprefix("data: ") for block in response.content.decode().split("\n\n") if block]
    return [text if text == "[DONE]" else json.loads(text) for text in texts]
