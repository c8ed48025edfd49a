"""The diff between the workspaces of the partition and the knowledge base folders."""

import logging
from collections.abc import Set
from dataclasses import replace
from itertools import islice

from ragcore.documents import ROOT_ID, Directory
from ragcore.errors import RagcoreError, Retryable
from ragcore.indexing.apply import Tally, chunks, claimed, side_by_side, walk_duplicates
from ragcore.indexing.run import Run
from ragcore.indexing.sync import Outcome, Placed
from ragcore.jobs import WalkJob
from ragcore.openrag import OpenRag

log = logging.getLogger(__name__)

MOST = 100_000  # files that leave a workspace in a run: their ids are held in memory


def apply_diff(run: Run) -> dict[str, RagcoreError]:
    """Makes the missing workspaces, each with its walk, and removes those of folders that nobody uses.

    Gives the workspaces that could not be made, or removed: the others are served all the same. Raises Retryable when
    the workspaces cannot be listed.
    """
    existing = run.sync.openrag.workspaces()
    if existing is None and not run.scopes.folders:
        return {}
    failed: dict[str, RagcoreError] = {}
    wanted = run.scopes.workspaces()
    for workspace in wanted.keys() - (existing or set()):
        try:
            _make(run, workspace, wanted[workspace], first=existing is None)
        except RagcoreError as error:
            log.error("%s: no workspace %s: %s", run.instance.domain, workspace, error)
            failed[workspace] = error
    for workspace in (existing or set()) - wanted.keys():
        try:
            _remove(run, workspace, wanted.keys() - failed.keys())
        except RagcoreError as error:
            log.warning("%s: the workspace %s is not removed yet: %s", run.instance.domain, workspace, error)
            failed[workspace] = error
    return failed


def create(openrag: OpenRag, folder: Directory, workspace: str, first: bool) -> None:
    """The workspace of a folder, and the partition where it is the `first`. Raises Retryable."""
    if first:
        openrag.create_partition()
    openrag.create_workspace(workspace, "Drive" if folder.id == ROOT_ID else folder.name)


def _make(run: Run, workspace: str, folder: Directory, first: bool) -> None:
    """The walk is owed before its workspace is there: whatever breaks in between, it is walked, or undone.

    A workspace exists only when its walk was enqueued: else it is taken back, with the walk. Where it cannot be, the
    walk stays owed: it makes what is missing.
    """
    walk = WalkJob(run.instance.domain, folder.id)
    try:
        owed = run.work.owe(walk)
        create(run.sync.openrag, folder, workspace, first)
        run.work.push(owed)
    except RagcoreError:
        run.sync.openrag.delete_workspace(workspace, keep_files=True)
        run.work.take_back(walk)
        raise
    log.info("%s: workspace %s made, its walk is enqueued", run.instance.domain, workspace)


def _remove(run: Run, workspace: str, served: Set[str]) -> None:
    """Moves its files to the workspaces that are `served` and contain them, deletes those that no folder contains,
    then the workspace. Raises Retryable, also while a file that no folder contains is still being indexed."""
    openrag, tally = run.sync.openrag, Tally()
    leaving = list(islice(openrag.files(workspace), MOST))
    for file_ids in chunks(leaving):
        kept = claimed(run, file_ids)
        walk_duplicates(run, [file_id for file_id in file_ids if file_id not in kept])

        def leave(file_id: str, kept: dict[str, Placed] = kept) -> Outcome:
            if file_id in kept:
                return run.sync.attach(replace(kept[file_id], workspaces=kept[file_id].workspaces & served))
            return run.sync.remove(file_id)

        side_by_side(run, file_ids, leave, str, tally)
        run.turn.check()
    if tally.failures:
        raise tally.to_retry()
    if len(leaving) == MOST:
        raise Retryable(f"{MOST} files left it: more are to leave with the next run")
    _remove_unclaimed(run)
    openrag.delete_workspace(workspace, keep_files=True)
    log.info("%s: workspace %s removed: no assistant uses its folder", run.instance.domain, workspace)


def _remove_unclaimed(run: Run) -> None:
    """What is still being indexed joins its workspace later: the workspace is what finds it then. Raises Retryable."""
    for file_ids in chunks(run.sync.uploads.all()):
        for file_id in set(file_ids) - claimed(run, file_ids).keys():
            run.sync.remove(file_id)
