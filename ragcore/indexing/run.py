"""What a feed job and a walk share: the lock of the instance, its scopes, and the sync of one file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ragcore.config import IndexJobs
from ragcore.files.tree import Tree
from ragcore.indexing.scopes import Scopes, read_scopes
from ragcore.indexing.sync import MEDIA, Sync
from ragcore.instances import Instance
from ragcore.locks import Lock, locked
from ragcore.runtime import Runtime
from ragcore.store import Store


@dataclass(frozen=True)
class Run:
    instance: Instance
    store: Store
    tree: Tree
    scopes: Scopes
    sync: Sync
    settings: IndexJobs
    lock: Lock


@contextmanager
def index_run(runtime: Runtime, domain: str) -> Iterator[Run]:
    """One index job of an instance at a time, over all machines. Raises Locked, Retryable, NotFound."""
    instance = runtime.instances.get(domain)
    with locked(runtime.redis, f"rag-index:{domain}") as lock:
        yield Run(
            instance=instance,
            store=runtime.store,
            tree=Tree(runtime.store, instance),
            scopes=read_scopes(runtime.store, instance),
            sync=_sync(runtime, instance),
            settings=runtime.config.jobs.rag_index,
            lock=lock,
        )


def _sync(runtime: Runtime, instance: Instance) -> Sync:
    return Sync(
        openrag=runtime.openrag(instance),
        store=runtime.store,
        storage=runtime.storage,
        instance=instance,
        callback_url=f"{runtime.config.public_url(instance.domain)}/ai/index/status",
        media=frozenset(kind for kind in MEDIA if instance.flag(runtime.config, f"rag.index.{kind}.enabled") is True),
    )
