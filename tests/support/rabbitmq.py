"""A RabbitMQ of one's own on the loopback, with its data in a folder of its own: Debian's package, not its service."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local.ports import HOST, choose_ports
from deploy.local.process import Process

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # Debian's own wrapper writes where the service does

needs_rabbitmq = pytest.mark.skipif(not SERVER.exists(), reason="no rabbitmq-server is installed (Debian's package)")


@contextmanager
def rabbitmq(folder: Path, settings: str = "") -> Iterator[tuple[Process, str]]:
    """It serves; its URL. `settings` are lines of an `advanced.config`."""
    ports = choose_ports(("amqp", "nodes", "names"), {})
    (folder / "advanced.config").write_text(f"[{settings}].")
    env = os.environ | _environment(folder, ports)
    names = Process("epmd", ["epmd", "-address", HOST], env, folder, folder / "epmd.log", _is_there, guarded=True)
    broker = Process("rabbitmq", [str(SERVER)], env, folder, folder / "rabbitmq.log", _serves, guarded=True)
    try:
        names.start()  # else the broker starts one that outlives it
        broker.start()
        yield broker, f"amqp://guest:guest@{HOST}:{ports['amqp']}/"
    finally:
        broker.kill()
        names.kill()


def _environment(folder: Path, ports: dict[str, int]) -> dict[str, str]:
    return {
        "HOME": str(folder),  # of the cookie that nodes know each other by
        "ERL_EPMD_ADDRESS": HOST,
        "ERL_EPMD_PORT": str(ports["names"]),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_DIST_PORT": str(ports["nodes"]),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_MNESIA_BASE": str(folder),
        "RABBITMQ_NODE_IP_ADDRESS": HOST,
        "RABBITMQ_NODE_PORT": str(ports["amqp"]),
        "RABBITMQ_NODENAME": f"ragcore{ports['amqp']}@localhost",
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }


def _is_there(process: Process) -> bool:
    return process.alive


def _serves(process: Process) -> bool:
    return "Server startup complete" in process.output()
