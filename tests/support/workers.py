"""Workers of one's own, to kill and to freeze."""

from deploy.local.layout import CHECKOUT, RAGCORE
from deploy.local.process import Process
from deploy.local.services import CELERY_READY
from deploy.local.stack import Stack


def query_worker(stack: Stack, name: str, concurrency: int) -> Process:
    """Not started yet; it ends when the tests end, however they do."""
    return _process(stack, name, "worker", "query", "--concurrency", str(concurrency))


def index_worker(stack: Stack, name: str) -> Process:
    """Not started yet."""
    return _process(stack, name, "worker", "index")


def beat(stack: Stack, name: str) -> Process:
    """Not started yet."""
    return _process(stack, name, "beat")


def _process(stack: Stack, name: str, *words: str) -> Process:
    return Process(
        name=name,
        argv=[str(RAGCORE), *words],
        env=stack.environment(),
        cwd=CHECKOUT,
        log=stack.data / "logs" / f"{name}.log",
        is_ready=lambda process: CELERY_READY.search(process.output()) is not None,
        guarded=True,
    )
