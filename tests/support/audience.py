"""Clients of an instance that keep all they hear of its chat, and what they were told of each question."""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import websocket

from ragcore.events import CHAT_EVENTS
from tests.support.api import Client, Websocket

Json = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """What one client was told of one question, as it came."""

    docs: list[Json]

    @property
    def ends(self) -> list[str]:
        """The terminal events: `done`, or the code of an error."""
        return [doc.get("code", "done") for doc in self.docs if doc["object"] in ("done", "error")]

    @property
    def positions(self) -> list[int]:
        return [doc["position"] for doc in self.docs if doc["object"] == "delta"]

    @property
    def lost(self) -> int:
        """Deltas before the last one that came which did not; which were the last ones is for a test to say."""
        return len(set(range(max(self.positions, default=-1) + 1)) - set(self.positions))

    @property
    def doubled(self) -> int:
        return len(self.positions) - len(set(self.positions)) + max(len(self.ends) - 1, 0)

    @property
    def out_of_order(self) -> int:
        return sum(after < before for before, after in zip(self.positions, self.positions[1:], strict=False))


def tally(told: Iterable[Told]) -> dict[str, int]:
    """The figures of a fault: how the questions ended, and what became of their events."""
    told = list(told)
    ends = Counter("answered" if one.ends[:1] == ["done"] else "told error" if one.ends else "hung" for one in told)
    sums = {name: sum(getattr(one, name) for one in told) for name in ("lost", "doubled", "out_of_order")}
    return {name: ends[name] for name in ("answered", "told error", "hung")} | sums


@dataclass
class Listener:
    """One websocket, open until it is closed or cut off; it hears all questions of its instance."""

    client: Client
    docs: dict[str, list[Json]] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Listener":
        self._socket: Websocket = self.client.socket({"type": CHAT_EVENTS})
        self._socket.sync()
        self._socket.socket.settimeout(120)
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.socket.abort()  # to close it alone ends nothing while a thread reads

    def told(self, question_id: str) -> Told:
        return Told(list(self.docs.get(question_id, ())))

    def has_ends(self, question_ids: Iterable[str]) -> bool:
        return all(self.told(question_id).ends for question_id in question_ids)

    def _listen(self) -> None:
        with contextlib.suppress(websocket.WebSocketException, OSError):
            for message in self._socket:
                self._keep(message)
        self.ended.set()

    def _keep(self, message: Json) -> None:
        payload = message["payload"]
        if payload.get("type") == CHAT_EVENTS:
            self.docs.setdefault(payload["id"], []).append(payload["doc"])
