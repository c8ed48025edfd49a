"""What openRAG reports of its indexing tasks, saved: of an instance, many at a time in the same requests."""

from redis import Redis

from ragcore.documents import FILES, File
from ragcore.errors import RagcoreError
from ragcore.files.tree import Tree
from ragcore.indexing.status import Callback
from ragcore.indexing.statuses import Statuses
from ragcore.indexing.uploads import Uploads
from ragcore.instances import Instance
from ragcore.store import Store
from ragcore.together import Together


class Unsaved(RagcoreError):
    """A status is lost, and who reported it does not come again."""


class Reports:
    def __init__(self, store: Store, redis: Redis) -> None:
        self._store = store
        self._redis = redis
        self._together: Together[tuple[Instance, Callback], None] = Together(self._receive)

    def receive(self, instance: Instance, callback: Callback) -> None:
        """Saves what is reported of a file that is still there; a late callback about another is no error.

        Raises Unsaved.
        """
        try:
            self._together.add(instance.domain, (instance, callback)).result()
        except RagcoreError as error:
            raise Unsaved("the status could not be saved") from error

    def _receive(self, domain: str, reports: list[tuple[Instance, Callback]]) -> list[None]:
        instance = reports[-1][0]
        ids = {callback.file_id for _, callback in reports}
        Uploads(self._redis, domain).ended(*ids)
        there = self._there(instance, ids)
        statuses = Statuses(self._store, instance, there)
        for _, callback in reports:
            if callback.file_id in there:
                statuses.report(callback)
        statuses.save()
        return [None] * len(reports)

    def _there(self, instance: Instance, ids: set[str]) -> set[str]:
        """The files that exist outside of the trash."""
        found = [File.from_document(doc) for doc in self._store.get_many(instance, FILES, ids).values()]
        folders = Tree(self._store, instance).directories({file.dir_id for file in found})
        there = (file for file in found if not file.trashed and file.dir_id in folders)
        return {file.id for file in there if not folders[file.dir_id].trashed}
