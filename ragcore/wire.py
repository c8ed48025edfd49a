"""HTTP with one server, over connections that are kept: a request in one piece, and its whole answer.

httptools, a parser in C, reads the answers. What larger libraries do beside that (cookies, hooks, redirections) takes
more of the processor than all the rest.
"""

import socket
import ssl
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.util.wait import wait_for_read

AT_ONCE = int(socket.MSG_PEEK | socket.MSG_DONTWAIT)

PIECE = 1 << 16  # bytes of an answer that are read at once, at most

Timeouts = tuple[float, float]  # seconds: to connect, and between two pieces of an answer


class Broken(OSError):
    """The answer is none, or not whole."""


@dataclass(frozen=True)
class Answer:
    """The names of `headers` are in small letters."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class Session:
    """`lines` are headers of each request; at most `most_kept` connections wait for the next one.

    No proxy is asked, and the certificate of a server with TLS is verified.
    """

    def __init__(self, url: str, lines: Mapping[str, str], most_kept: int) -> None:
        parts = urlsplit(url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._tls = ssl.create_default_context(cafile=DEFAULT_CA_BUNDLE_PATH) if parts.scheme == "https" else None
        self._address = parts.hostname or "", parts.port or (443 if self._tls else 80)
        self._lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": parts.netloc, **lines}.items())
        self._kept: deque[_Connection] = deque(maxlen=most_kept)

    def request(self, method: str, url: str, *, data: bytes | None = None, timeout: Timeouts) -> Answer:
        """Raises OSError. A GET is sent once more where its connection breaks: a server may close one that was kept at
        the moment that it is used."""
        try:
            return self._request(method, url, data or b"", timeout)
        except TimeoutError:
            raise
        except OSError:
            if method != "GET":
                raise
        return self._request(method, url, b"", timeout)

    def _request(self, method: str, url: str, data: bytes, timeout: Timeouts) -> Answer:
        target = url.removeprefix(self._origin) or "/"
        head = f"{method} {target} HTTP/1.1\r\n{self._lines}Content-Length: {len(data)}\r\n\r\n"
        connection = self._connection(timeout[0])
        try:
            answer = connection.ask(method, head.encode("ascii") + data, timeout[1])
        except BaseException:
            connection.socket.close()
            raise
        if connection.is_to_be_kept:
            self._kept.append(connection)
        else:
            connection.socket.close()
        return answer

    def _connection(self, timeout: float) -> "_Connection":
        with suppress(IndexError):  # none is kept
            while True:
                connection = self._kept.pop()
                if is_silent(connection.socket):
                    return connection
                connection.socket.close()
        return _Connection(self._connect(timeout))

    def _connect(self, timeout: float) -> socket.socket:
        connected = socket.create_connection(self._address, timeout)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._tls.wrap_socket(connected, server_hostname=self._address[0]) if self._tls else connected


class _Connection:
    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.is_to_be_kept = True

    def ask(self, method: str, request: bytes, timeout: float) -> Answer:
        """Raises OSError."""
        self.socket.settimeout(timeout)
        self.socket.sendall(request)
        response = _Response()
        parser = HttpResponseParser(response)
        while not response.is_whole(method, parser.get_status_code()):
            if not (piece := self.socket.recv(PIECE)):
                if parser.get_status_code() < 200 or not response.ends_with_its_connection:
                    raise Broken("the answer is not whole")
                self.is_to_be_kept = False
                break
            try:
                parser.feed_data(piece)
            except (HttpParserError, HttpParserUpgrade) as error:
                raise Broken("the answer is no HTTP") from error
        if parser.get_http_version() != "1.1" or response.headers.get("connection", "").lower() == "close":
            self.is_to_be_kept = False
        return Answer(parser.get_status_code(), response.headers, b"".join(response.pieces))


class _Response:
    """What the parser says of an answer, and of the hints (1xx) before it."""

    def __init__(self) -> None:
        self.on_message_begin()

    def on_message_begin(self) -> None:
        self.headers: dict[str, str] = {}
        self.pieces: list[bytes] = []
        self._has_headers = self._is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._has_headers = True

    def on_body(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def on_message_complete(self) -> None:
        self._is_complete = True

    def is_whole(self, method: str, status: int) -> bool:
        return status >= 200 and (self._is_complete or (method == "HEAD" and self._has_headers))

    @property
    def ends_with_its_connection(self) -> bool:
        return self._has_headers and not {"content-length", "transfer-encoding"} & self.headers.keys()


def is_silent(connected: socket.socket) -> bool:
    """Whether nothing is to be read: neither its end, nor what nobody has asked for. gevent's own way to look is a turn
    of its loop."""
    raw = getattr(connected, "_sock", None)
    if raw is None:
        return not wait_for_read(connected, timeout=0.0)
    try:
        raw.recv(1, AT_ONCE)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
