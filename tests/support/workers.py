"""Workers of one's own, to kill and to freeze."""

from collections.abc import Iterator
from contextlib import contextmanager

from deploy.local.layout import CHECKOUT, RAGCORE
from deploy.local.process import Process, wait_ready
from deploy.local.services import CELERY_READY
from deploy.local.stack import Stack


@contextmanager
def running(*workers: Process) -> Iterator[None]:
    """Started side by side, and killed at the end where they still live."""
    try:
        for worker in workers:
            worker.spawn()
        wait_ready(workers)
        yield
    finally:
        for worker in workers:
            worker.kill()


@contextmanager
def suspended(process: Process) -> Iterator[None]:
    process.handle.suspend()
    try:
        yield
    finally:
        process.handle.resume()


def query_worker(stack: Stack, name: str, concurrency: int, **environ: str) -> Process:
    """Not started yet; it ends when the tests end, however they do."""
    return _process(stack, name, "worker", "query", "--concurrency", str(concurrency), **environ)


def beat(stack: Stack, name: str) -> Process:
    """Not started yet."""
    return _process(stack, name, "beat")


def _process(stack: Stack, name: str, *words: str, **environ: str) -> Process:
    return Process(
        name=name,
        argv=[str(RAGCORE), *words],
        env=stack.environment() | environ,
        cwd=CHECKOUT,
        log=stack.data / "logs" / f"{name}.log",
        is_ready=lambda process: CELERY_READY.search(process.output()) is not None,
        guarded=True,
    )
