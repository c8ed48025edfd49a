"""What comes of an answer while openRAG streams it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ragcore.chat import sources
from ragcore.chat.calls import Calls
from ragcore.errors import Retryable
from ragcore.openrag import Chunk, Usage

Json = dict[str, Any]

LARGEST_ANSWER = 1 << 19  # characters, with the reasoning: no LLM says so much, and a conversation can be saved with it


@dataclass
class Stream:
    """What has come of an answer. Each piece of text is published with its position, once.

    The calls, the sources, and how the stream ended, are those of the last query.
    """

    publish: Callable[[Json], None]
    partition: str
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    sources: list[Json] = field(default_factory=list)
    calls: Calls = field(default_factory=Calls)
    size: int = 0  # characters of the content and the reasoning
    ended: bool = False
    truncated: bool = False
    _spent: Usage = Usage()  # by the queries before this one
    _spends: Usage = Usage()

    def take(self, chunk: Chunk) -> None:
        """Raises Retryable for an error chunk, and for an answer that is too long, cut short then."""
        if chunk.error:
            raise Retryable(f"the LLM failed: {chunk.error}")
        self._spends = chunk.usage or self._spends  # some tell it with each chunk: the last one counts
        self._publish("reasoning", self.reasoning, chunk.reasoning)
        self._publish("delta", self.content, chunk.content)
        self.calls.take(chunk.tool_calls)
        self.sources = sources.from_openrag(chunk.sources, self.partition) or self.sources
        self.truncated = self.truncated or chunk.truncated
        self.ended = self.ended or chunk.done or bool(chunk.finish_reason)

    def begin_again(self) -> None:
        self.calls, self.sources, self.ended, self.truncated = Calls(), [], False, False
        self._spent, self._spends = self.usage, Usage()

    def _publish(self, kind: str, pieces: list[str], text: str) -> None:
        fitting = text[: LARGEST_ANSWER - self.size]
        if fitting:
            self.publish({"object": kind, "content": fitting, "position": len(pieces)})
            pieces.append(fitting)
            self.size += len(fitting)
        if len(fitting) < len(text):
            self.truncated = True
            raise Retryable(f"the answer has more than {LARGEST_ANSWER} characters")

    @property
    def usage(self) -> Usage:
        """The tokens of all queries together, as far as the LLM told them."""
        return self._spent + self._spends

    @property
    def broke_off(self) -> bool:
        """Here, or behind openRAG."""
        return self.truncated or not self.ended

    @property
    def has_text(self) -> bool:
        return bool("".join(self.content).strip())
