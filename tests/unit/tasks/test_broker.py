"""The broker with TLS: a server of one's own that presents a certificate, and notes what it is told behind it."""

import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ragcore.config import Config
from tasks.app import create_app
from tasks.base import BROKER_ERRORS
from tests.support.certificates import certificate

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl is installed, which makes certificates")


@contextmanager
def serving(place: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Its port, and the first bytes of each connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place)
    told: list[bytes] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                accepted, _ = listener.accept()
                accepted.settimeout(5)
                with suppress(OSError), accepted, context.wrap_socket(accepted, server_side=True) as connection:
                    told.append(connection.recv(8))

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], told
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


@pytest.mark.parametrize(("section", "scheme"), [("broker", "amqps"), ("redis", "rediss")])
@pytest.mark.parametrize("name", ["IP:127.0.0.1", "DNS:other.example"])
def test_a_broker_is_believed_whose_certificate_has_its_name(
    section: str, scheme: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = certificate(tmp_path, name)
    monkeypatch.setenv("SSL_CERT_FILE", str(place))
    with serving(place) as (port, told):
        app = create_app(Config.model_validate({section: {"url": f"{scheme}://:p@127.0.0.1:{port}/0"}}))
        with app.connection_for_write() as connection, pytest.raises(BROKER_ERRORS):  # it closes without an answer
            connection.transport.establish_connection()
    assert bool(told) == (name == "IP:127.0.0.1")
