"""What is let through of an answer: text that is grounded in something. What is grounded in nothing is never shown."""

from dataclasses import dataclass, field, replace

from ragcore.chat.stream import LARGEST_ANSWER, Stream
from ragcore.errors import Retryable
from ragcore.grounded.cite import Citations
from ragcore.openrag import Chunk

PREAMBLE = 200  # characters that an LLM may say before it calls a tool


@dataclass
class Gate:
    """Of one completion. It opens with the first citation of a passage that was given.

    Where tools are offered (`may_call`), the first text waits for more, or for the end: before a call, it is no answer.
    What results of tools say (`supported`) needs no citation.
    """

    stream: Stream
    citations: Citations
    may_call: bool = False
    supported: bool = False
    opened: bool = False
    _held: list[str] = field(default_factory=list)
    _size: int = 0
    _calls: bool = False

    def take(self, chunk: Chunk) -> None:
        """The thoughts of an LLM are no answer."""
        calls = chunk.tool_calls if self.may_call else ()
        self._calls = self._calls or bool(calls)
        said = self._let(self.citations.take(chunk.content))
        self.stream.take(replace(chunk, content=said, reasoning="", tool_calls=calls, sources=()))

    def end(self) -> None:
        """The completion is over: what is held is an answer, unless calls came behind it."""
        rest = self.citations.rest()
        if self.opened or not self._calls:
            self.may_call = False
            self.stream.take(Chunk(self._let(rest)))

    def _let(self, text: str) -> str:
        if self.opened:
            return text
        self._held.append(text)
        self._size += len(text)
        if not self._is_answer():
            if self._size > LARGEST_ANSWER:
                raise Retryable(f"{LARGEST_ANSWER} characters of the answer are grounded in nothing")
            return ""
        text, self._held, self.opened = "".join(self._held), [], True
        return f"\n\n{text}" if self.stream.has_text else text

    def _is_answer(self) -> bool:
        if self.may_call and (self._size <= PREAMBLE or self._calls):
            return False
        return bool(self.citations.cited) or (self.supported and any(map(str.strip, self._held)))
