"""The scope rule applied to many files, side by side: what a feed job and a walk share."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from ragcore.documents import Directory, File, generation
from ragcore.errors import RagcoreError, Retryable
from ragcore.indexing.run import Run
from ragcore.indexing.sync import Outcome, Placed
from ragcore.store import Document

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass
class Tally:
    """How a run went: a count for each outcome, and what failed and may be tried again."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    failures: list[tuple[str, RagcoreError]] = field(default_factory=list)

    def __str__(self) -> str:
        return ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.counts.items()) if count) or "nothing"

    def fail(self, name: str, error: RagcoreError) -> None:
        log.warning("file %s is tried again later: %s", name, error)
        self.failures.append((name, error))
        self.counts[Outcome.FAILED] += 1

    def to_retry(self) -> Retryable:
        """What the job is tried again with."""
        name, first = self.failures[0]
        waits = [error.retry_after for _, error in self.failures if isinstance(error, Retryable) and error.retry_after]
        return Retryable(f"{len(self.failures)} failed, {name} first: {first}", max(waits, default=None))


def apply_directory(run: Run, directory: Directory, tally: Tally, done: Collection[str]) -> None:
    """Applies the scope rule to the direct files of a directory, but for those that are done."""
    for page in run.tree.children(directory.id):
        apply_page(run, directory, [doc for doc in page if doc["_id"] not in done], tally)


def apply_page(run: Run, directory: Directory, page: list[Document], tally: Tally) -> int:
    """Applies the scope rule to the files in a page of a directory's children: how many files there are.

    Raises Retryable when all of them failed: it is not this file or that one, then, and thousands of others need
    not be tried.
    """
    files = [File.from_document(doc) for doc in page if doc.get("type") == "file"]
    failed = len(tally.failures)
    count = apply_files(run, ((file, directory) for file in files), tally, generation(directory.rev) > 1)
    if count >= run.settings.parallel_requests and len(tally.failures) - failed == count:
        raise tally.to_retry()
    run.turn.check()
    return len(files)


def apply_files(run: Run, files: Iterable[tuple[File, Directory]], tally: Tally, moved: bool = False) -> int:
    """Applies the scope rule to files in their directories: how many cost a call.

    A file at its first revision and out of scope was never on openRAG: it costs none. Unless its directory was
    `moved`, which does not touch the documents of its files.
    """
    placed = [Placed(file, directory.path, run.scopes.of(directory)) for file, directory in files]
    owed = [item for item in placed if moved or item.workspaces or generation(item.file.rev) > 1]
    tally.counts[Outcome.SKIPPED] += len(placed) - len(owed)
    side_by_side(owed, run.sync.apply, lambda item: item.file.id, run.settings.parallel_requests, tally)
    return len(owed)


def side_by_side(
    items: Iterable[T], apply: Callable[[T], Outcome], name: Callable[[T], str], parallel: int, tally: Tally
) -> None:
    """Applies to all items, up to `parallel` at a time. One that fails keeps no other from being done."""

    def one(item: T) -> tuple[T, Outcome | RagcoreError]:
        try:
            return item, apply(item)
        except RagcoreError as error:
            return item, error
        except Exception as error:  # noqa: BLE001  (a bug that one odd document shows must not stop all others)
            log.exception("file %s", name(item))
            return item, RagcoreError(f"unexpected {type(error).__name__}")

    with ThreadPoolExecutor(parallel, thread_name_prefix="sync") as pool:
        for item, outcome in pool.map(one, items):
            if isinstance(outcome, RagcoreError):
                tally.fail(name(item), outcome)
            else:
                tally.counts[outcome] += 1
