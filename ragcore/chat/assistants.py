"""The assistant of a conversation, and the workspace that its answers are scoped to."""

from dataclasses import dataclass

from ragcore.chat.conversations import assistant_id_of
from ragcore.chat.errors import AnswerError
from ragcore.documents import ASSISTANTS, Assistant
from ragcore.errors import NotFound
from ragcore.files.tree import Tree
from ragcore.instances import Instance
from ragcore.openrag import OpenRag
from ragcore.openrag.names import workspace_of
from ragcore.store import Document, Store


@dataclass(frozen=True)
class Scope:
    """The prompt of the assistant, and its workspace (none: the whole partition)."""

    prompt: str = ""
    workspace: str | None = None


def scope_of(store: Store, instance: Instance, openrag: OpenRag, conversation: Document, documents: bool) -> Scope:
    """Read at each question: a prompt that was edited applies at once.

    Raises AnswerError when the assistant is gone or its folder is not indexed: an answer is never taken from a
    wider set of documents than the assistant's.
    """
    assistant_id = assistant_id_of(conversation)
    if assistant_id is None:
        return Scope()
    try:
        if assistant_id.startswith("_"):
            raise NotFound("a route of the database is no assistant")
        assistant = Assistant.from_document(store.get(instance, ASSISTANTS, assistant_id))
    except NotFound:
        raise AnswerError("assistant_not_found", "The assistant of this conversation does not exist.") from None
    if not documents or assistant.folder is None:
        return Scope(assistant.prompt)
    return Scope(assistant.prompt, _workspace(Tree(store, instance), openrag, assistant.folder))


def _workspace(tree: Tree, openrag: OpenRag, folder_id: str) -> str:
    workspace = workspace_of(folder_id)
    try:
        indexed = not tree.directory(folder_id).trashed and openrag.has_workspace(workspace)
    except NotFound:
        indexed = False
    if not indexed:
        raise AnswerError("not_indexed", "The knowledge base of the assistant is not indexed.")
    return workspace
