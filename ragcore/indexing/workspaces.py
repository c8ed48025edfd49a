"""The diff between the workspaces of the partition and the knowledge base folders."""

import logging

from ragcore.documents import ROOT_ID, Directory
from ragcore.errors import NotFound, RagcoreError
from ragcore.indexing.scopes import Scopes
from ragcore.jobs import WalkJob
from ragcore.ledger import Owed
from ragcore.openrag import OpenRag
from ragcore.work import Work

log = logging.getLogger(__name__)


def apply_diff(openrag: OpenRag, scopes: Scopes, work: Work) -> list[str]:
    """Makes the missing workspaces, each with its walk, and removes those of folders that nobody uses.

    Gives the workspaces that could not be made: the others are served all the same. Raises Retryable when the
    workspaces cannot be listed.
    """
    existing = openrag.workspaces()
    if existing is None and not scopes.folders:
        return []
    wanted = scopes.workspaces()
    missing = [workspace for workspace in wanted if workspace not in (existing or ())]
    failed = [
        workspace
        for workspace in missing
        if not _make(openrag, workspace, wanted[workspace], work, first=existing is None)
    ]
    for workspace in (existing or set()) - wanted.keys():
        _remove(openrag, workspace)
    return failed


def _make(openrag: OpenRag, workspace: str, folder: Directory, work: Work, first: bool) -> bool:
    """The walk is owed before its workspace is there: whatever breaks in between, it is walked, or undone."""
    walk = WalkJob(openrag.partition, folder.id)
    try:
        owed = work.owe(walk)
        if first:
            openrag.create_partition()
        openrag.create_workspace(workspace, "Drive" if folder.id == ROOT_ID else folder.name)
        _enqueue(openrag, workspace, work, owed)
    except RagcoreError as error:
        work.take_back(walk)
        log.error("%s: no workspace for the folder %s: %s", openrag.partition, folder.id, error)
        return False
    log.info("%s: workspace %s made, its walk is enqueued", openrag.partition, workspace)
    return True


def _enqueue(openrag: OpenRag, workspace: str, work: Work, walk: Owed) -> None:
    """A workspace exists only when its walk was enqueued: else the workspace is taken back."""
    try:
        work.push(walk)
    except RagcoreError:
        openrag.delete_workspace(workspace, keep_files=True)
        raise


def _remove(openrag: OpenRag, workspace: str) -> None:
    """Detaches the files one by one, deletes those that are in no other workspace, then the workspace."""
    for file_id in openrag.workspace_files(workspace):
        if _other_workspaces(openrag, workspace, file_id):
            openrag.remove_from_workspace(workspace, file_id)
        else:
            openrag.delete_file(file_id)
    openrag.delete_workspace(workspace, keep_files=True)
    log.info("%s: workspace %s removed: no assistant uses its folder", openrag.partition, workspace)


def _other_workspaces(openrag: OpenRag, workspace: str, file_id: str) -> set[str]:
    """None for a file that left meanwhile."""
    try:
        return openrag.file_workspaces(file_id) - {workspace}
    except NotFound:
        return set()
