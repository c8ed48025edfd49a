from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandbox_client import SETTINGS, Client, Server, new_client, start_server


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers of this test's own, over one data folder, with `SANDBOX_` variables."""
    servers: list[Server] = []

    def start_one(**environment: str) -> Server:
        servers.append(start_server(tmp_path / "data", environment))
        return servers[-1]

    yield start_one
    for server in servers:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_server(tmp_path_factory.mktemp("sandbox"), {})
    yield server
    server.stop()


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    """A partition of the test's own on the shared server, whose settings are put back afterwards."""
    yield new_client(shared_server)
    shared_server.control("DELETE", "faults")
    shared_server.control("DELETE", "calls")
    shared_server.control("POST", "settings", SETTINGS)


@pytest.fixture
def other(shared_server: Server) -> Client:
    """A second partition on the same server."""
    return new_client(shared_server)
