"""What openRAG reports of its indexing tasks, saved: of an instance, many at a time in the same requests."""

from redis import Redis

from ragcore.documents import FILES, File
from ragcore.errors import RagcoreError, Retryable
from ragcore.files.tree import Tree
from ragcore.indexing.status import Callback
from ragcore.indexing.statuses import Statuses
from ragcore.indexing.uploads import Uploads
from ragcore.instances import Instance
from ragcore.store import Store
from ragcore.together import Together

Report = tuple[Instance, Callback]


class Unsaved(RagcoreError):
    """A status is lost, and who reported it does not come again."""


class Reports:
    def __init__(self, store: Store, redis: Redis) -> None:
        self._store = store
        self._redis = redis
        self._together: Together[Report, None] = Together(self._receive)

    def receive(self, instance: Instance, callback: Callback) -> None:
        """Saves what is reported of a file that is still there; a late callback about another is no error.

        Raises Unsaved.
        """
        try:
            self._together.add(instance.domain, (instance, callback)).result()
        except RagcoreError as error:
            raise Unsaved("the status could not be saved") from error

    def _receive(self, reports: list[Report]) -> list[Exception | None]:
        """One that cannot be saved, whatever it is, keeps no other from it."""
        try:
            self._save(reports)
        except Retryable:
            raise
        except Exception as error:  # noqa: BLE001  (each is told its own)
            return [error] if len(reports) == 1 else [self._receive([report])[0] for report in reports]
        return [None] * len(reports)

    def _save(self, reports: list[Report]) -> None:
        instance = reports[-1][0]
        ids = {callback.file_id for _, callback in reports}
        Uploads(self._redis, instance.domain).ended(*ids)
        there = self._there(instance, ids)
        statuses = Statuses(self._store, instance, there)
        for _, callback in reports:
            if callback.file_id in there:
                statuses.report(callback)
        statuses.save()

    def _there(self, instance: Instance, ids: set[str]) -> set[str]:
        """The files that exist outside of the trash."""
        found = [File.from_document(doc) for doc in self._store.get_many(instance, FILES, ids).values()]
        folders = Tree(self._store, instance).directories({file.dir_id for file in found})
        there = (file for file in found if not file.trashed and file.dir_id in folders)
        return {file.id for file in there if not folders[file.dir_id].trashed}
