"""Which passages there are for a question: the files that the conversation has cited first, then all of its scope."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ragcore.aborting import Abortable
from ragcore.errors import NotFound, Refused, Retryable
from ragcore.grounded.assemble import merged
from ragcore.openrag import OpenRag, Passage

MOST_FILES = 8  # that were cited
ENOUGH = 2  # passages of them: nothing else is looked at then
TOP_K = 20  # passages of a search: so many that those of one file leave room for another
LONGEST_QUERY = 1000  # characters: it goes into a URL


def cited_sources(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The sources of an answer that it cites; of the chat, whose answers do not say so, all of them."""
    sources = message.get("sources") if message.get("role") == "assistant" else None
    return [s for s in sources if isinstance(s, dict) and s.get("cited", True)] if isinstance(sources, list) else []


def cited_files(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The files that a conversation has cited, the last ones first."""
    ids = (source.get("id") for message in reversed(messages) for source in cited_sources(message))
    return list(dict.fromkeys(file_id for file_id in ids if isinstance(file_id, str) and file_id))[:MOST_FILES]


@dataclass(frozen=True)
class Retrieval:
    """`workspace` None: the whole partition. `check` raises when the question is not to be answered any more."""

    openrag: OpenRag
    workspace: str | None
    threshold: float
    check: Callable[[], None]
    _calls: list[Abortable] = field(default_factory=list)

    def find(self, question: str, cited: Sequence[str]) -> list[Passage]:
        """Best first. Raises Retryable, and what `check` raises."""
        text = question[:LONGEST_QUERY]
        try:
            staged = self._in_files(text, cited) if cited else []
            return staged if len(staged) >= ENOUGH else self._in_scope(text)
        finally:
            self.check()

    def abort(self) -> None:
        """Breaks the searches off, whichever thread waits for them."""
        for call in list(self._calls):
            call.abort()

    def _in_files(self, text: str, file_ids: Sequence[str]) -> list[Passage]:
        with ThreadPoolExecutor(len(file_ids), "search") as pool:
            return merged(list(pool.map(lambda file_id: self._in_file(text, file_id), file_ids)), text)

    def _in_file(self, text: str, file_id: str) -> list[Passage]:
        """Nothing of a file that is gone, or has left the workspace; clients may have written what is no file."""
        try:
            if self.workspace and self.workspace not in self.openrag.file_workspaces(file_id):
                return []
            return self.openrag.search_file(file_id, text, TOP_K, self.threshold, self._call())
        except (NotFound, Refused):
            return []

    def _in_scope(self, text: str) -> list[Passage]:
        try:
            return self.openrag.search(text, TOP_K, self.threshold, self.workspace or "", self._call())
        except NotFound:
            if self.workspace:
                raise Retryable("openRAG does not know the workspace, or the route") from None
            return []  # the first question of an instance may come before its first file

    def _call(self) -> Abortable:
        """One that `abort` reaches from now on."""
        call = Abortable()
        self._calls.append(call)
        self.check()
        return call
