"""Query workers of one's own, to kill and to freeze."""

from deploy.local.layout import CHECKOUT, RAGCORE
from deploy.local.process import Process
from deploy.local.services import CELERY_READY
from deploy.local.stack import Stack


def query_worker(stack: Stack, name: str, concurrency: int) -> Process:
    """Not started yet; it ends when the tests end, however they do."""
    return Process(
        name=name,
        argv=[str(RAGCORE), "worker", "query", "--concurrency", str(concurrency)],
        env=stack.environment(),
        cwd=CHECKOUT,
        log=stack.data / "logs" / f"{name}.log",
        is_ready=lambda process: CELERY_READY.search(process.output()) is not None,
        guarded=True,
    )
