"""`ragcore check`: the configuration and every server, one line each."""

import os
from collections.abc import Callable, Iterator

import click
from redis.exceptions import RedisError

from deploy.cli.context import Context, json_option, pass_context, print_json
from ragcore.errors import RagcoreError
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.units import without_password
from ragcore.watch.watcher import WATCHING

ANSWERS_WITHIN = 1.0  # seconds, of workers
Check = Callable[[], str]


@click.command()
@json_option
@pass_context
def check(context: Context, as_json: bool) -> None:
    """Check the configuration, every server, that the queues have workers and a beat is active. Exit code 1 if not."""
    results = [(name, *_result(run)) for name, run in _checks(context)]
    if as_json:
        print_json([{"name": name, "ok": ok, "detail": detail} for name, ok, detail in results])
    else:
        for name, ok, detail in results:
            click.echo(f"{'ok' if ok else 'FAILED':<7}{name}: {detail}")
    if not all(ok for _, ok, _ in results):
        raise SystemExit(1)


def _result(run: Check) -> tuple[bool, str]:
    try:
        return True, run()
    except (RagcoreError, RedisError, OSError) as error:
        return False, " ".join(str(error).split())


def _checks(context: Context) -> Iterator[tuple[str, Check]]:
    yield "configuration", lambda: f"{len(context.config.rag)} openRAG server(s)"
    runtime = context.runtime
    yield from _servers(runtime)
    yield f"storage {context.config.fs.url}", lambda: _storage(runtime)
    for name in context.config.rag:
        yield f"openrag {name} {without_password(context.config.rag[name].url)}", _openrag(runtime, name)
    for queue in ("rag-index", "rag-query", "rag-schedule"):
        yield f"queue {queue}", _consumers(queue)
    yield "watcher", lambda: _watcher(runtime)
    yield "beat", lambda: _beat(runtime)


def _servers(runtime: Runtime) -> Iterator[tuple[str, Check]]:
    yield f"redis {without_password(runtime.config.redis.url)}", lambda: _redis(runtime)
    if url := runtime.config.broker.url:
        yield f"broker {without_password(url)}", _broker
    yield f"couchdb {without_password(runtime.config.couchdb.url)}", lambda: _couchdb(runtime)


def require_servers(runtime: Runtime) -> None:
    """Raises RagcoreError, in one line, when one of the servers does not answer at the start."""
    for name, run in _servers(runtime):
        ok, detail = _result(run)
        if not ok:
            raise RagcoreError(f"{name}: {detail}")


def _redis(runtime: Runtime) -> str:
    return f"version {runtime.redis.info('server')['redis_version']}"


def _broker() -> str:
    from tasks.app import app
    from tasks.base import BROKER_ERRORS

    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0)
            return "version {version}".format(**connection.connection.server_properties)
    except BROKER_ERRORS as error:
        raise RagcoreError(str(error) or "does not answer") from None


def _couchdb(runtime: Runtime) -> str:
    info = runtime.store.server.info()
    return f"version {info.get('version', 'unknown')}"


def _storage(runtime: Runtime) -> str:
    root = runtime.storage.root
    if not root.is_dir() or not os.access(root, os.W_OK):
        raise RagcoreError("is not a folder that can be written")
    return "can be written"


def _openrag(runtime: Runtime, name: str) -> Check:
    def run() -> str:
        types = OpenRag(runtime.session, runtime.config.rag[name], "").supported_types()
        return f"{len(types.get('extensions', []))} file types"

    return run


def _watcher(runtime: Runtime) -> str:
    if not runtime.redis.exists(WATCHING):
        raise RagcoreError("none follows the databases: nothing is indexed by itself (ragcore watch)")
    return "one follows the databases"


def _beat(runtime: Runtime) -> str:
    from tasks.app import BEAT_LOCK

    if not runtime.redis.exists(BEAT_LOCK):
        raise RagcoreError("none is active: nothing is started by time (ragcore beat)")
    return "one is active"


def _consumers(queue: str) -> Check:
    def run() -> str:
        from tasks.app import app
        from tasks.base import BROKER_ERRORS

        try:
            queues = app.control.inspect(timeout=ANSWERS_WITHIN).active_queues() or {}
        except BROKER_ERRORS:
            raise RagcoreError("the broker does not answer") from None
        count = sum(any(q["name"] == queue for q in of_worker) for of_worker in queues.values())
        if not count:
            raise RagcoreError("no worker takes its jobs")
        return f"{count} worker(s)"

    return run
