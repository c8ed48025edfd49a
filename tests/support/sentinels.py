"""A Redis behind Sentinels: a primary, two replicas, and three Sentinels that agree on which is which."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from deploy.local.ports import HOST, choose_ports
from deploy.local.process import Process, wait_ready

SERVICE = "main"
PASSWORD = "of-the-redis"
DOWN_AFTER = 1000  # milliseconds until a Sentinel takes a server for dead
SERVERS = ("redis-1", "redis-2", "redis-3")
SENTINELS = ("sentinel-1", "sentinel-2", "sentinel-3")
SAFE = {"min-replicas-to-write": "1", "min-replicas-max-lag": "10"}  # a former primary takes no writes
CONFIG = f"""
sentinel monitor {SERVICE} {HOST} {{primary}} 2
sentinel auth-pass {SERVICE} {PASSWORD}
sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER}
sentinel failover-timeout {SERVICE} 5000
"""


@dataclass(frozen=True)
class Failover:
    """The processes by their names: those of SERVERS, of which the first one is the primary as it begins, and those of
    SENTINELS."""

    processes: dict[str, Process]
    ports: dict[str, int]

    @property
    def url(self) -> str:
        hosts = ",".join(f"{HOST}:{self.ports[name]}" for name in SENTINELS)
        return f"redis+sentinel://:{PASSWORD}@{hosts}/{SERVICE}/0"

    def primary(self) -> str:
        """Its name, once all Sentinels know all of the servers, and the replicas have what it has; else empty."""
        states = [self._state(name) for name in SENTINELS]
        others = (len(SERVERS) - 1, len(SENTINELS) - 1)
        known = all((s["num-slaves"], s["num-other-sentinels"]) == others for s in states)
        primary = next(name for name in SERVERS if self.ports[name] == states[0]["port"])
        linked = self._replication(primary).get("min_slaves_good_slaves") == others[0]
        return primary if known and linked and self.is_primary(primary) else ""

    def is_primary(self, name: str) -> bool:
        """As the server itself says."""
        return self._replication(name).get("role") == "master"

    def _state(self, name: str) -> dict[str, int]:
        with Redis(host=HOST, port=self.ports[name], decode_responses=True, socket_timeout=2) as sentinel:
            return sentinel.sentinel_master(SERVICE)

    def _replication(self, name: str) -> dict[str, str]:
        try:
            with Redis(host=HOST, port=self.ports[name], password=PASSWORD, socket_timeout=2) as server:
                return server.info("replication")
        except RedisError:
            return {}


@contextmanager
def sentinels(folder: Path) -> Iterator[Failover]:
    """They need some seconds until they know one another: `primary()` tells."""
    ports = choose_ports((*SERVERS, *SENTINELS), {})
    servers = {name: _server(folder, name, ports) for name in SERVERS}
    watching = {name: _sentinel(folder, name, ports) for name in SENTINELS}
    with ExitStack() as ended:
        for group in (servers, watching):
            for process in group.values():
                process.spawn()
                ended.callback(process.kill)
            wait_ready(list(group.values()))
        yield Failover(servers | watching, ports)


def _server(folder: Path, name: str, ports: dict[str, int]) -> Process:
    options = {"port": str(ports[name]), "requirepass": PASSWORD, "masterauth": PASSWORD, "appendonly": "yes"} | SAFE
    if name != SERVERS[0]:
        options["replicaof"] = f"{HOST} {ports[SERVERS[0]]}"
    return _process(folder, name, [], options)


def _sentinel(folder: Path, name: str, ports: dict[str, int]) -> Process:
    """It writes what it learns into its configuration."""
    config = folder / f"{name}.conf"
    config.write_text(CONFIG.format(primary=ports[SERVERS[0]]))
    return _process(folder, name, [str(config), "--sentinel"], {"port": str(ports[name])})


def _process(folder: Path, name: str, words: list[str], options: dict[str, str]) -> Process:
    home = folder / name
    home.mkdir()
    options |= {"bind": HOST, "dir": str(home), "protected-mode": "no"}
    flags = [word for key, value in options.items() for word in (f"--{key}", *value.split())]
    return Process(
        name=name,
        argv=["redis-server", *words, *flags],
        env={},
        cwd=folder,
        log=folder / f"{name}.log",
        is_ready=lambda process: any(word in process.output() for word in ("Ready to accept", "monitor master")),
        guarded=True,
    )
