"""Which passages there are for a question: the files that the conversation has cited first, then all of its scope."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from ragcore.aborting import Abortable
from ragcore.documents import LONGEST_ID
from ragcore.errors import NotFound, Refused, Retryable
from ragcore.grounded.assemble import merged
from ragcore.grounded.remembered import MEMORY
from ragcore.openrag import OpenRag, Passage

MOST_FILES = 8  # that were cited
ENOUGH = 2  # passages of them: nothing else is looked at then
TOP_K = 20  # passages of a search: so many that those of one file leave room for another
TOP_K_OF_SOME = 100  # where only some of them are kept
LONGEST_QUERY = 1000  # characters: it goes into a URL

Keep = Callable[[list[Passage]], list[Passage]]


def cited_sources(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The sources of an answer that it cites; of the chat, whose answers do not say so, all of them."""
    sources = message.get("sources") if message.get("role") == "assistant" else None
    return [s for s in sources if isinstance(s, dict) and s.get("cited", True)] if isinstance(sources, list) else []


def cited_files(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The files that a conversation has cited, the last ones first."""
    cited = (source for message in reversed(messages) for source in cited_sources(message))
    ids = (source.get("id") for source in cited if source.get("sourceType") != MEMORY)
    return list(dict.fromkeys(filter(_may_be_a_file, ids)))[:MOST_FILES]


def _may_be_a_file(file_id: Any) -> TypeGuard[str]:
    """Clients may have written anything; no URL holds what is too long, and openRAG would answer as if it were busy."""
    return isinstance(file_id, str) and 0 < len(file_id) <= LONGEST_ID


@dataclass(frozen=True)
class Retrieval:
    """`workspace` None: the whole partition. `check` raises when the question is not to be answered any more."""

    openrag: OpenRag
    workspace: str | None
    threshold: float
    check: Callable[[], None]
    _calls: list[Abortable] = field(default_factory=list)

    def find(self, question: str, cited: Sequence[str], keep: Keep | None = None) -> list[Passage]:
        """Best first; `keep` says which of them count. Raises Retryable, and what `check` raises."""
        text, top_k = question[:LONGEST_QUERY], TOP_K_OF_SOME if keep else TOP_K
        keep = keep or list
        try:
            staged = keep(self._in_files(text, cited, top_k)) if cited else []
            return staged if len(staged) >= ENOUGH else keep(self._in_scope(text, top_k))
        finally:
            self.check()

    def abort(self) -> None:
        """Breaks the searches off, whichever thread waits for them."""
        for call in list(self._calls):
            call.abort()

    def _in_files(self, text: str, file_ids: Sequence[str], top_k: int) -> list[Passage]:
        with ThreadPoolExecutor(len(file_ids), "search") as pool:
            return merged(list(pool.map(lambda file_id: self._in_file(text, file_id, top_k), file_ids)), text)

    def _in_file(self, text: str, file_id: str, top_k: int) -> list[Passage]:
        """Nothing of a file that is gone, or has left the workspace; clients may have written what is no file."""
        try:
            if self.workspace and self.workspace not in self.openrag.file_workspaces(file_id):
                return []
            return self.openrag.search_file(file_id, text, top_k, self.threshold, self._call())
        except (NotFound, Refused):
            return []

    def _in_scope(self, text: str, top_k: int) -> list[Passage]:
        try:
            return self.openrag.search(text, top_k, self.threshold, self.workspace or "", self._call())
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
