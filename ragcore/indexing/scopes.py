"""The knowledge base folders of an instance, and which of them contain a directory."""

from collections.abc import Collection
from dataclasses import dataclass

from ragcore.documents import ASSISTANTS, Assistant, Directory, is_inside
from ragcore.files.tree import Tree
from ragcore.instances import Instance
from ragcore.openrag.names import workspace_of
from ragcore.store import Store


@dataclass(frozen=True)
class Scopes:
    folders: tuple[Directory, ...]

    def workspaces(self) -> dict[str, Directory]:
        """The folder of each workspace that should exist."""
        return {workspace_of(folder.id): folder for folder in self.folders}

    def without(self, workspaces: Collection[str]) -> "Scopes":
        return Scopes(tuple(folder for folder in self.folders if workspace_of(folder.id) not in workspaces))

    def of(self, directory: Directory) -> frozenset[str]:
        """The ids of the workspaces that the files of a directory belong to."""
        if directory.trashed:
            return frozenset()
        return frozenset(workspace_of(folder.id) for folder in self.folders if is_inside(directory.path, folder.path))


def read_scopes(store: Store, instance: Instance) -> Scopes:
    """The folders of all assistants; one that is gone or trashed counts no more.

    Raises Retryable when they cannot be read: unknown is not empty.
    """
    assistants = [Assistant.from_document(doc) for doc in store.all(instance, ASSISTANTS)]
    ids = {assistant.folder for assistant in assistants if assistant.folder}
    found = Tree(store, instance).directories(ids).values()
    return Scopes(tuple(folder for folder in found if not folder.trashed))
