"""The processes of the stack: how each is started, and how one sees that it serves."""

from __future__ import annotations

import http.client
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

import redis

from deploy.local.layout import DATABASE, RAGCORE, Layout
from deploy.local.ports import HOST
from deploy.local.process import Process

PROBE_TIMEOUT = 2.0
CELERY_READY = re.compile(r"\bready\.\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Service:
    """A kind of process. Both functions are given the layout of the stack that it belongs to."""

    name: str
    argv: Callable[[Layout], list[str]]
    is_ready: Callable[[Layout, Process], bool]


def redis_argv(layout: Layout) -> list[str]:
    """Redis with no configuration file; what it holds survives a restart."""
    options = {"port": str(layout.ports["redis"]), "bind": HOST, "dir": str(folder(layout, "redis"))}
    fixed = {"appendonly": "yes", "save": "", "daemonize": "no"}
    return ["redis-server", *(word for key, value in {**options, **fixed}.items() for word in (f"--{key}", value))]


def couchdb_argv(layout: Layout) -> list[str]:
    server = str(DATABASE / "server.js")
    return ["node", server, "--port", str(layout.ports["couchdb"]), "--dir", str(folder(layout, "couchdb"))]


def openrag_argv(layout: Layout) -> list[str]:
    port, data = str(layout.ports["openrag"]), str(folder(layout, "openrag"))
    return [sys.executable, "-m", "deploy.sandbox", "--port", port, "--data", data]


def ragcore(*words: str) -> Callable[[Layout], list[str]]:
    return lambda layout: [str(RAGCORE), *words]


def folder(layout: Layout, name: str) -> str:
    path = layout.data / name
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def redis_ready(layout: Layout, process: Process) -> bool:
    """It answers, and it is ours: another Redis may have taken the port first."""
    client = redis.Redis(host=HOST, port=layout.ports["redis"], socket_timeout=PROBE_TIMEOUT)
    try:
        return client.ping() and client.info("server")["process_id"] == process.pid
    except redis.RedisError:
        return False
    finally:
        client.close()


def answers_200(port_name: str, path: str) -> Callable[[Layout, Process], bool]:
    def is_ready(layout: Layout, process: Process) -> bool:
        connection = http.client.HTTPConnection(HOST, layout.ports[port_name], timeout=PROBE_TIMEOUT)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return is_ready


def celery_ready(layout: Layout, process: Process) -> bool:
    """Celery writes `celery@host ready.` when it consumes."""
    return CELERY_READY.search(process.output()) is not None


def watch_ready(layout: Layout, process: Process) -> bool:
    return "ready" in process.output()


SERVERS = (
    Service("redis", redis_argv, redis_ready),
    Service("couchdb", couchdb_argv, answers_200("couchdb", "/")),
    Service("openrag", openrag_argv, answers_200("openrag", "/health_check")),
)
PROJECT = (
    Service("api", ragcore("serve"), answers_200("api", "/status")),
    Service("worker-index", ragcore("worker", "index"), celery_ready),
    Service("worker-query", ragcore("worker", "query"), celery_ready),
    Service("watch", ragcore("watch"), watch_ready),
    Service("beat", ragcore("beat"), celery_ready),
)
BY_ITSELF = ("watch",)  # what makes jobs that nobody asked for
NAMES = tuple(service.name for service in (*SERVERS, *PROJECT))
