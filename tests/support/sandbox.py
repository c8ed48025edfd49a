"""The control routes of the stand-in openRAG, for tests."""

import re
from typing import Any

import requests


class Sandbox:
    def __init__(self, url: str) -> None:
        self.url = url

    def reset(self) -> None:
        requests.delete(f"{self.url}/_sandbox/faults", timeout=10).raise_for_status()
        self.clear_calls()
        self.set(index_delay=0, call_delay=0, max_file_size=None, quota=None, swap=[])
        self.set(put_workspaces="keep", legacy=False, global_workspace_ids=False)

    def clear_calls(self) -> None:
        requests.delete(f"{self.url}/_sandbox/calls", timeout=10).raise_for_status()

    def script(self, *items: dict[str, Any], **more: Any) -> None:
        """What the LLM says at its next call."""
        self._post("llm", {"script": items, **more})

    def release(self, hold: str) -> None:
        """The stream goes on that a script holds."""
        requests.delete(f"{self.url}/_sandbox/holds/{hold}", timeout=10).raise_for_status()

    def fault(self, **fault: Any) -> None:
        self._post("faults", fault)

    def set(self, **settings: Any) -> None:
        self._post("settings", settings)

    def calls(self, route: str = "", method: str = "") -> list[dict[str, Any]]:
        params = {"route": route, "method": method}
        response = requests.get(f"{self.url}/_sandbox/calls", params=params, timeout=10)
        found: list[dict[str, Any]] = response.json()["calls"]
        return found

    def completions(self) -> list[dict[str, Any]]:
        """The bodies of the completions that were given."""
        return [call["json"] for call in self.calls("/v1/chat/completions", "POST") if call["status"] == 200]

    def _post(self, route: str, body: dict[str, Any]) -> None:
        requests.post(f"{self.url}/_sandbox/{route}", json=body, timeout=10).raise_for_status()


def said(text: str, apart: float = 0.0) -> list[dict[str, Any]]:
    """Items of a script: a text word by word, with seconds between them."""
    words = re.findall(r"\s*\S+\s*", text)
    return [item for word in words for item in ({"content": word}, {"sleep": apart})]
