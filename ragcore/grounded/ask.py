"""A grounded answer: passages are found first, and what the LLM makes of them is let through where it cites them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ragcore.chat.reading import Json, Reading
from ragcore.chat.stream import LARGEST_ANSWER, Stream
from ragcore.errors import NotFound, Retryable
from ragcore.grounded.assemble import assemble
from ragcore.grounded.cite import Citations
from ragcore.grounded.languages import nothing_found
from ragcore.grounded.prompt import completion
from ragcore.grounded.retrieve import Retrieval, cited_files
from ragcore.grounded.sources import sources_of
from ragcore.grounded.summary import is_due, summary_in
from ragcore.jobs import SummaryJob
from ragcore.openrag import Chunk, OpenRag, Passage
from ragcore.store import Document


@dataclass(frozen=True)
class Ask(Reading):
    """Without a passage the LLM is not asked. An answer that cites none is asked for once more, then replaced."""

    def ask(self) -> None:
        passages = self._passages()
        if not passages or not self._answer(passages):
            self.stream.take(Chunk(nothing_found(self._questions()), done=True))

    def afterwards(self, saved: Document) -> SummaryJob | None:
        if not is_due(saved):
            return None
        job = self.job
        return SummaryJob(job.domain, job.prefix, job.conversation_id, job.context, job.flags)

    def _passages(self) -> list[Passage]:
        """A follow-up that finds nothing by itself is looked up together with the question before it."""
        threshold = self.instance.rag_server(self.runtime.config).similarity_threshold
        retrieval = Retrieval(self._openrag, self.scope.workspace, threshold, self.claim.check)
        self.claim.fence.on_close = retrieval.abort
        cited = cited_files(self.asked)
        last, *before = list(self._questions())[:2]
        for text in (last, *(f"{last}\n{earlier}" for earlier in before)):
            if found := retrieval.find(text, cited):
                return assemble(found, text)
        return []

    def _answer(self, passages: list[Passage]) -> bool:
        """Whether there is one."""
        for again in (False, True):
            if cited := self._ask(passages, again):
                self.stream.sources = sources_of(self.runtime.store, self.instance, passages, cited)
                return True
            self.stream.begin_again()
        return False

    def _ask(self, passages: list[Passage], again: bool) -> set[int]:
        """The numbers of the passages that the LLM cites."""
        body = self._body(passages, again)
        grounded = Grounded(self.stream, Citations(len(passages)))
        self.read_to_end(lambda: self._read(body, grounded))
        self.read_to_end(grounded.end)
        return grounded.citations.cited

    def _read(self, body: Json, grounded: "Grounded") -> None:
        try:
            self.read(self._openrag, body, grounded.take)
        except NotFound:
            raise Retryable("openRAG does not know the route") from None

    def _body(self, passages: list[Passage], again: bool) -> Json:
        style = [self.scope.prompt, self.job.instructions]
        question = next(self._questions())
        override = self.scope.llm_override
        metadata: Json = {"websearch": False} | ({"llm_override": override} if override else {})
        summary = summary_in(self.conversation)
        return completion(style, self.asked[:-1], question, passages, again, summary) | {"metadata": metadata}

    @property
    def _openrag(self) -> OpenRag:
        return self.runtime.openrag(self.instance)

    def _questions(self) -> Iterator[str]:
        """What the user asked, the last question first."""
        for message in reversed(self.asked):
            content = message.get("content")
            if message.get("role") == "user" and isinstance(content, str) and content.strip():
                yield content


@dataclass
class Grounded:
    """Lets an answer through from its first citation on: what cites nothing is never shown."""

    stream: Stream
    citations: Citations
    _held: list[str] = field(default_factory=list)
    _size: int = 0

    def take(self, chunk: Chunk) -> None:
        """The thoughts of an LLM are no answer, and there are no tools."""
        said = self._let(self.citations.take(chunk.content))
        self.stream.take(replace(chunk, content=said, reasoning="", tool_calls=(), sources=()))

    def end(self) -> None:
        if self.citations.cited:
            self.stream.take(Chunk(self._let(self.citations.rest())))

    def _let(self, text: str) -> str:
        if not self.citations.cited:
            self._held.append(text)
            self._size += len(text)
            if self._size > LARGEST_ANSWER:
                raise Retryable(f"{LARGEST_ANSWER} characters of the answer cite nothing")
            return ""
        text, self._held = "".join([*self._held, text]), []
        return text
