"""The assistant of a conversation: its prompt, its LLM, and the workspace that its answers are scoped to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ragcore.chat.conversations import assistant_id_of
from ragcore.chat.errors import AnswerError
from ragcore.chat.providers import Provider, provider_of
from ragcore.chat.secrets import without_secrets
from ragcore.documents import ASSISTANTS, Assistant
from ragcore.errors import NotFound, RagcoreError
from ragcore.files.tree import Tree
from ragcore.instances import Instance
from ragcore.openrag import OpenRag
from ragcore.openrag.names import workspace_of
from ragcore.runtime import Runtime
from ragcore.store import Document


@dataclass(frozen=True)
class Scope:
    """The prompt of the assistant, its workspace (none: the whole partition) and its LLM (none: openRAG's)."""

    prompt: str = ""
    workspace: str | None = None
    provider: Provider | None = None

    @property
    def llm_override(self) -> dict[str, str]:
        return self.provider.llm_override if self.provider else {}

    @contextmanager
    def secrets_kept(self) -> Iterator[None]:
        """Errors inside the context hold no secret of an LLM, whatever the servers quoted."""
        try:
            yield
        except RagcoreError as error:
            error.args = tuple(without_secrets(str(part), self.provider) for part in error.args)
            raise


def scope_of(runtime: Runtime, instance: Instance, conversation: Document, documents: bool) -> Scope:
    """Read at each question: a prompt that was edited applies at once.

    Raises AnswerError when the assistant is gone or its folder is not indexed: an answer is never taken from a
    wider set of documents than the assistant's.
    """
    assistant_id = assistant_id_of(conversation)
    if assistant_id is None:
        return Scope()
    store = runtime.store
    try:
        if assistant_id.startswith("_"):
            raise NotFound("a route of the database is no assistant")
        assistant = Assistant.from_document(store.get(instance, ASSISTANTS, assistant_id))
    except NotFound:
        raise AnswerError("assistant_not_found", "The assistant of this conversation does not exist.") from None
    provider = provider_of(store, instance, runtime.vault, assistant.provider)
    if not documents or assistant.folder is None:
        return Scope(assistant.prompt, None, provider)
    workspace = _workspace(Tree(store, instance), runtime.openrag(instance), assistant.folder)
    return Scope(assistant.prompt, workspace, provider)


def _workspace(tree: Tree, openrag: OpenRag, folder_id: str) -> str:
    workspace = workspace_of(folder_id)
    try:
        indexed = not tree.directory(folder_id).trashed and openrag.has_workspace(workspace)
    except NotFound:
        indexed = False
    if not indexed:
        raise AnswerError("not_indexed", "The knowledge base of the assistant is not indexed.")
    return workspace
