"""The scope rule applied to many files, side by side: what a feed job and a walk share."""

import itertools
import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_after_delay

from ragcore.documents import FILES, Directory, File, generation
from ragcore.errors import RagcoreError, Retryable
from ragcore.indexing.run import Run
from ragcore.indexing.statuses import Statuses, duplicates_of
from ragcore.indexing.sync import NOTHING, Outcome, Placed

log = logging.getLogger(__name__)

T = TypeVar("T")

ATTEMPTS = 3  # at one file, within a run
LONGEST_WAIT = 5.0  # seconds between two of them; what asks for more is tried again by the job
LONGEST_ATTEMPTS = 10.0  # seconds
NAMED = 1000  # failures that a tally names
CHUNK = 200  # files whose documents are held at once

RELEASING = (Outcome.INDEXED, Outcome.REMOVED, Outcome.REFUSED, Outcome.DUPLICATE)


@dataclass
class Tally:
    """How a run went: a count for each outcome, and what failed and may be tried again."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    failures: list[tuple[str, RagcoreError]] = field(default_factory=list)
    in_a_row: int = 0  # failures since the last file that went well

    def __str__(self) -> str:
        return ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.counts.items()) if count) or "nothing"

    def take(self, name: str, outcome: Outcome | RagcoreError) -> None:
        if isinstance(outcome, RagcoreError):
            self._fail(name, outcome)
        else:
            self.counts[outcome] += 1
            self.in_a_row = 0

    def _fail(self, name: str, error: RagcoreError) -> None:
        log.warning("file %s is tried again later: %s", name, error)
        if len(self.failures) < NAMED:
            self.failures.append((name, error))
        self.counts[Outcome.FAILED] += 1
        self.in_a_row += 1

    def names(self) -> str:
        """The files that failed."""
        unnamed = self.counts[Outcome.FAILED] - len(self.failures)
        return ", ".join(name for name, _ in self.failures) + (f" and {unnamed} more" if unnamed > 0 else "")

    @property
    def longest_wait(self) -> float | None:
        """The seconds that a server asked for."""
        waits = [error.retry_after for _, error in self.failures if isinstance(error, Retryable) and error.retry_after]
        return max(waits, default=None)

    def to_retry(self) -> Retryable:
        """What the job is tried again with."""
        name, first = self.failures[0]
        return Retryable(f"{self.counts[Outcome.FAILED]} failed, {name} first: {first}", self.longest_wait)


def apply_directory(run: Run, directory: Directory, tally: Tally, done: Collection[str]) -> None:
    """Applies the scope rule to the direct files of a directory, but for those that are done, and to what waits for
    their content."""
    for page in run.tree.children(directory.id):
        files = [File.from_document(doc) for doc in page if doc.get("type") == "file" and doc["_id"] not in done]
        released = apply_files(run, [(file, directory) for file in files], tally, moved=generation(directory.rev) > 1)
        apply_duplicates(run, [file.id for file in files], released, tally)


def apply_files(
    run: Run,
    files: Sequence[tuple[File, Directory]],
    tally: Tally,
    *,
    moved: bool = False,
    released: Mapping[str, str] = NOTHING,
    go_on: Callable[[], bool] | None = None,
) -> dict[str, str]:
    """Applies the scope rule to files in their directories, in their order, as long as it may `go_on`: by default,
    until this process ends.

    Gives the md5sum that each holds on openRAG from now on, `""` for none, where that may have changed. A file at its
    first revision and out of scope was never there: it costs no call. Unless its directory was `moved`, which does not
    touch the documents of its files.
    """
    statuses = Statuses(run.store, run.instance, [file.id for file, _ in files])
    may_go_on = go_on or run.may_go_on
    placed = _placed(run, itertools.takewhile(lambda _: may_go_on(), files), tally, moved)

    def apply(placed: Placed) -> Outcome:
        return run.sync.apply(placed, statuses, released)

    try:
        outcomes = side_by_side(run, placed, apply, lambda placed: placed.file.id, tally)
        return {
            placed.file.id: placed.file.md5sum if outcome is Outcome.INDEXED else ""
            for placed, outcome in outcomes
            if outcome in RELEASING
        }
    finally:
        run.turn.check()  # else another job has the turn: nothing more is saved
        statuses.save()


def _placed(run: Run, files: Iterable[tuple[File, Directory]], tally: Tally, moved: bool) -> Iterator[Placed]:
    """Those that may be on openRAG, or are to be; the others are counted."""
    for file, directory in files:
        workspaces = run.scopes.of(directory)
        if moved or workspaces or generation(file.rev) > 1:
            yield Placed(file, directory.path, workspaces)
        else:
            tally.counts[Outcome.SKIPPED] += 1


def apply_duplicates(run: Run, holders: Collection[str], released: Mapping[str, str], tally: Tally) -> None:
    """Tries the files again that were refused because one of these held their content, if it does no more.

    All that were worked on are asked for, not the `released` alone: a run that was killed in between is repeated.
    """
    found = run.store.get_many(run.instance, FILES, duplicates_of(run.store, run.instance, holders))
    files = [File.from_document(doc) for doc in found.values() if doc.get("type") == "file"]
    apply_files(run, with_parents(run, files), tally, released=released)


def claimed(run: Run, file_ids: Collection[str]) -> dict[str, Placed]:
    """Those of the files that knowledge base folders contain, in two requests. Raises Retryable."""
    found = run.store.get_many(run.instance, FILES, file_ids)
    files = [File.from_document(doc) for doc in found.values() if doc.get("type") == "file" and not doc.get("trashed")]
    placed = [Placed(file, parent.path, run.scopes.of(parent)) for file, parent in with_parents(run, files)]
    return {item.file.id: item for item in placed if item.workspaces}


def walk_duplicates(run: Run, holders: Collection[str]) -> None:
    """Owes a walk of a folder for the files that wait for the content of these, which are about to be deleted."""
    waiting = claimed(run, duplicates_of(run.store, run.instance, holders) - set(holders))
    folders = run.scopes.workspaces()
    for workspace in {min(placed.workspaces) for placed in waiting.values()}:
        run.work.walk(run.instance.domain, folders[workspace].id)


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk


def with_parents(run: Run, files: Collection[File]) -> list[tuple[File, Directory]]:
    """The files with their directories; one whose directory is gone is skipped, with a warning. Raises Retryable."""
    parents = run.tree.directories({file.dir_id for file in files})
    for file in files:
        if file.dir_id not in parents:
            log.warning("file %s is skipped: its folder %s is not there", file.id, file.dir_id)
    return [(file, parents[file.dir_id]) for file in files if file.dir_id in parents]


def side_by_side(
    run: Run, items: Iterable[T], apply: Callable[[T], Outcome], name: Callable[[T], str], tally: Tally
) -> list[tuple[T, Outcome | RagcoreError]]:
    """Applies to all items, up to `parallel_requests` at a time: what came of each, in the order in which they ended.

    One that fails keeps no other from being done; but raises Retryable when openRAG as a whole is away.
    """
    parallel, left = run.settings.parallel_requests, _Left(items)
    outcomes: list[tuple[T, Outcome | RagcoreError]] = []

    def work() -> None:
        for item in left:
            outcome = _outcome(apply, item, name)
            with left.lock:
                tally.take(name(item), outcome)
                outcomes.append((item, outcome))
                if tally.in_a_row and tally.in_a_row % parallel == 0:
                    with left.over_if_it_fails():
                        run.require_openrag()

    with ThreadPoolExecutor(parallel, thread_name_prefix="sync") as pool:
        workers = [pool.submit(work) for _ in range(parallel)]
    for worker in workers:
        worker.result()
    return outcomes


class _Left(Generic[T]):
    """Items that threads take by themselves, one after the other: handing each of them over took as long as a call.

    The items are asked for by one thread at a time, which has the `lock`.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self.lock = threading.Lock()
        self._items = iter(items)
        self._over = False

    def __iter__(self) -> Iterator[T]:
        while True:
            with self.lock, self.over_if_it_fails():
                taken = [] if self._over else list(itertools.islice(self._items, 1))
            if not taken:
                return
            yield taken[0]

    @contextmanager
    def over_if_it_fails(self) -> Iterator[None]:
        """To be entered with the lock: no thread takes another one then."""
        try:
            yield
        except BaseException:
            self._over = True
            raise


def _outcome(apply: Callable[[T], Outcome], item: T, name: Callable[[T], str]) -> Outcome | RagcoreError:
    try:
        return _again(apply, item)
    except RagcoreError as error:
        return error
    except Exception as error:  # noqa: BLE001  (a bug that one odd document shows must not stop all others)
        log.exception("file %s", name(item))
        return RagcoreError(f"unexpected {type(error).__name__}")


def _passes_soon(error: BaseException) -> bool:
    return isinstance(error, Retryable) and (error.retry_after or 0) <= LONGEST_WAIT


def _wait(state: RetryCallState) -> float:
    """As long as the server asks for, else 0.2 s and twice as long each time."""
    error = state.outcome.exception() if state.outcome else None
    told = error.retry_after if isinstance(error, Retryable) else None
    return told if told is not None else 0.1 * 2.0**state.attempt_number


_again = Retrying(
    retry=retry_if_exception(_passes_soon),
    wait=_wait,
    stop=stop_after_attempt(ATTEMPTS) | stop_after_delay(LONGEST_ATTEMPTS),
    reraise=True,
)
