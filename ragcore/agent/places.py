"""Where documents are: outside of the trash, and inside the folder that an answer is made from."""

from collections.abc import Iterable

from ragcore.documents import Directory, is_inside
from ragcore.files.tree import Tree
from ragcore.grounded.way import Way


def places_of(way: Way, dir_ids: Iterable[str], folder: Directory | None) -> dict[str, str]:
    """The paths of those directories whose documents may be told of, in one request. Raises Retryable."""
    found = Tree(way.runtime.store, way.instance).directories(set(dir_ids))
    return {
        dir_id: directory.path
        for dir_id, directory in found.items()
        if not directory.trashed and (folder is None or is_inside(directory.path, folder.path))
    }
