"""What one turn of the agent has gathered: the passages, numbered through, and the calls with their results."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragcore.agent.tools import Json, Result
from ragcore.chat.calls import Call
from ragcore.grounded.prompt import line_of
from ragcore.openrag import Passage

MOST_CALLS = 8  # of all completions together


@dataclass
class Turn:
    """`supported`: a result is there that an answer may rest on without citing a passage."""

    passages: list[Passage] = field(default_factory=list)
    messages: list[Json] = field(default_factory=list)
    cited: set[int] = field(default_factory=set)
    supported: bool = False
    called: int = 0
    ids: set[str] = field(default_factory=set)  # of the calls
    one_by_one: threading.Lock = field(default_factory=threading.Lock)

    @property
    def left(self) -> int:
        """Calls that may still be made."""
        return MOST_CALLS - self.called

    def add_calls(self, calls: Sequence[Call]) -> None:
        told = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
            for call in calls
        ]
        self.messages.append({"role": "assistant", "content": "", "tool_calls": told})

    def add_result(self, call: Call, result: Result) -> None:
        content = result.content
        if result.passages:
            content = {**content, "passages": [line_of(self._number(p), p) for p in result.passages]}
        text = json.dumps(content, ensure_ascii=False)
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})

    def _number(self, passage: Passage) -> int:
        """That it has already, if it was found before."""
        for number, known in enumerate(self.passages, start=1):
            if (known.file_id, known.content) == (passage.file_id, passage.content):
                return number
        self.passages.append(passage)
        return len(self.passages)
