"""The processes: `ragcore serve`, `ragcore worker` and `ragcore beat`. The configuration is checked first."""

import os
import socket
import sys

import click

from deploy.cli.check import require_servers
from deploy.cli.context import Context, pass_context
from deploy.open_files import raise_limit
from ragcore.errors import RagcoreError

CONNECTIONS = 12000  # sockets of one API process
# jobs at once: an index job has requests of its own, an answer waits, and holds 100 kB
THREADS = {"index": 4, "query": 1000, "schedule": 4}
_PASS_ON = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command()
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes behind the port.")
@pass_context
def serve(context: Context, workers: int) -> None:
    """Serve the API and the websockets, and the operators' API on the admin port."""
    config = context.config
    if config.port == config.admin.port:
        raise RagcoreError("port and admin.port must differ: the port says which API is asked")
    require_servers(context.runtime)
    _ = context.runtime.sealer  # a key file that is none is one line now, not an error at each account
    _require_port(config.host, config.port)
    _require_port(config.admin.host, config.admin.port)
    raise_limit()  # a connection for each websocket
    # a new program: gevent must patch the standard library before anything else is imported
    os.execv(  # noqa: S606
        sys.executable,
        [sys.executable, "-m", "gunicorn", "deploy.serve:application",
         "--worker-class", "gevent", "--workers", str(workers), "--worker-connections", str(CONNECTIONS),
         "--bind", _address(config.host, config.port), "--bind", _address(config.admin.host, config.admin.port),
         "--forwarded-allow-ips", "", "--forwarder-headers", "",  # api.proxies decides
         "--graceful-timeout", "5", "--log-level", "warning", "--no-control-socket"],
    )  # fmt: skip


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _require_port(host: str, port: int) -> None:
    """A port that is taken is one line, before the server tries again and again."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise RagcoreError(f"cannot listen on {host}:{port}: {error.strerror}") from None


@click.command()
@pass_context
def watch(context: Context) -> None:
    """Follow the databases: realtime events of what others write, and `@event` triggers. Several may run."""
    require_servers(context.runtime)
    os.execv(sys.executable, [sys.executable, "-m", "deploy.watch"])  # noqa: S606


@click.group()
def worker() -> None:
    """Run a pool of workers."""


def _worker(context: Context, pool: str, concurrency: int | None, options: list[str]) -> None:
    require_servers(context.runtime)
    _ = context.runtime.vault  # a key file that is none is one line now, not an error at each question
    raise_limit()  # a connection for each answer
    from tasks.app import app

    if pool == "schedule":
        from tasks.beat import Beat

        Beat(app).start()
    app.worker_main([
        "worker", "--pool", "threads", "--concurrency", str(concurrency or THREADS[pool]),
        "--queues", f"rag-{pool}", "--hostname", f"rag-{pool}-{os.getpid()}@%h", "--loglevel", "INFO",
        "--without-gossip", "--without-mingle", *options,
    ])  # fmt: skip


@worker.command(context_settings=_PASS_ON)
@click.option("--concurrency", type=click.IntRange(min=1), help=f"Jobs at once ({THREADS['index']}).")
@click.pass_context
def index(ctx: click.Context, concurrency: int | None) -> None:
    """Keep openRAG equal to the folders. Further options are Celery's."""
    _worker(ctx.obj, "index", concurrency, ctx.args)


@worker.command(context_settings=_PASS_ON)
@click.option("--concurrency", type=click.IntRange(min=1), help=f"Answers at once ({THREADS['query']}).")
@click.pass_context
def query(ctx: click.Context, concurrency: int | None) -> None:
    """Answer the questions. Further options are Celery's."""
    _worker(ctx.obj, "query", concurrency, ctx.args)


@click.command(context_settings=_PASS_ON)
@click.pass_context
def beat(ctx: click.Context) -> None:
    """Start what is due: triggers, the scheduled reindex, the removal of old jobs.

    Several may run: one is active, all take its messages. Further options are those of Celery's worker.
    """
    _worker(ctx.obj, "schedule", None, ctx.args)
