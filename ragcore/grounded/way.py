"""What the grounded ways of answering have in common: where they search, and what they send the LLM."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

from ragcore.chat.reading import Json, Reading
from ragcore.documents import Directory
from ragcore.errors import NotFound, Retryable
from ragcore.files.tree import Tree
from ragcore.grounded.gate import Gate
from ragcore.grounded.prompt import completion
from ragcore.grounded.remembered import ActiveMemories, with_memories
from ragcore.grounded.retrieve import Keep, Retrieval, cited_files
from ragcore.grounded.summary import is_due, summary_in
from ragcore.grounded.when import ALWAYS, When
from ragcore.jobs import SummaryJob
from ragcore.memories import Memories
from ragcore.openrag import OpenRag, Passage
from ragcore.openrag.names import folder_of
from ragcore.store import Document


@dataclass(frozen=True)
class Way(Reading):
    def afterwards(self, saved: Document) -> SummaryJob | None:
        if not is_due(saved):
            return None
        job = self.job
        return SummaryJob(job.domain, job.prefix, job.conversation_id, job.context, job.flags, job.org_id)

    @property
    def openrag(self) -> OpenRag:
        return self.runtime.openrag(self.instance)

    @property
    def question(self) -> str:
        """The user's own message."""
        return next(self.questions())

    def questions(self) -> Iterator[str]:
        """What the user asked, the last question first."""
        for message in reversed(self.asked):
            content = message.get("content")
            if message.get("role") == "user" and isinstance(content, str) and content.strip():
                yield content

    def folder(self) -> Directory | None:
        """The one that the answer is made from; None: all of them. Raises NotFound, Retryable."""
        workspace = self.scope.workspace
        return Tree(self.runtime.store, self.instance).directory(folder_of(workspace)) if workspace else None

    @cached_property
    def memories(self) -> Memories:
        return Memories(self.runtime.store, self.runtime.config, self.instance)

    @cached_property
    def _active(self) -> ActiveMemories:
        return ActiveMemories(self.memories)

    @cached_property
    def _retrieval(self) -> Retrieval:
        threshold = self.instance.rag_server(self.runtime.config).similarity_threshold
        return Retrieval(self.openrag, self.scope.workspace, threshold, self.claim.check)

    def may_search(self) -> None:
        """From now on, and until a completion is read, a cancel breaks the searches off."""
        self.claim.fence.on_close = self._retrieval.abort

    def find(self, text: str, when: When = ALWAYS) -> list[Passage]:
        """The passages and memories that fit a text, the best first. Raises Retryable, Lost, Interrupted.

        Several threads may call it at once.
        """
        with ThreadPoolExecutor(1, "memories") as pool:
            remembered = pool.submit(self._active.get)
            found = self._retrieval.find(text, cited_files(self.asked), self._keep(when))
        return with_memories(found, [m for m in remembered.result() if when.holds(m.updated_at)], text)

    def _keep(self, when: When) -> Keep | None:
        if when == ALWAYS:
            return None
        return lambda passages: when.passages(self.runtime.store, self.instance, passages)

    def body(self, rules: str, following: Sequence[Json] = (), **more: Json) -> Json:
        """The body of a completion: `following` are messages behind the question."""
        style = [self.scope.prompt, self.job.instructions]
        override = self.scope.llm_override
        metadata: Json = {"websearch": False} | ({"llm_override": override} if override else {})
        sent = completion(style, summary_in(self.conversation), rules, self.asked[:-1], self.question)
        sent["messages"] += following
        return {**sent, **more, "metadata": metadata}

    def read_through(self, gate: Gate, body: Json) -> None:
        """One completion, as far as the gate lets it through."""
        self.read_to_end(lambda: self._read(body, gate))
        self.read_to_end(gate.end)

    def _read(self, body: Json, gate: Gate) -> None:
        try:
            self.read(self.openrag, body, gate.take)
        except NotFound:
            raise Retryable("openRAG does not know the route") from None
