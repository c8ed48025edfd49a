"""HTTP with one server, over connections that are kept: a request and its whole answer, and nothing else of HTTP.

What a library does beside that (cookies, hooks, redirections, an object for each header) takes six times as much of the
processor.
"""

import socket
import ssl
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.util.wait import wait_for_read

LONGEST_HEAD = 1 << 16  # bytes
PIECE = 1 << 16  # bytes, that are read at once
WITHOUT_CONTENT = (204, 304)
AT_ONCE = int(socket.MSG_PEEK | socket.MSG_DONTWAIT)

Timeouts = tuple[float, float]  # seconds: to connect, and between two pieces of an answer


class Broken(OSError):
    """The answer is none, or not whole."""


@dataclass(frozen=True)
class Answer:
    """The names of `headers` are in lower case."""

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
        self._left = bytearray()  # what has come, and was not taken yet

    def ask(self, method: str, request: bytes, timeout: float) -> Answer:
        """Raises OSError."""
        self.socket.settimeout(timeout)
        self.socket.sendall(request)
        try:
            status, headers = self._head()
            content = b"" if method == "HEAD" or status in WITHOUT_CONTENT else self._content(headers)
        except ValueError as error:
            raise Broken("the answer is no HTTP") from error
        if self._left or headers.get("connection", "").lower() == "close":
            self.is_to_be_kept = False
        return Answer(status, headers, content)

    def _head(self) -> tuple[int, dict[str, str]]:
        """Of the answer itself, not of those before it that only say to wait."""
        first, *lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError(version)
        if (status := int(rest[:3])) < 200:
            return self._head()
        self.is_to_be_kept = version != "HTTP/1.0"
        headers = (line.partition(":") for line in lines)
        return status, {name.lower(): value.strip() for name, _, value in headers}

    def _content(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return b"".join(iter(self._chunk, b""))
        if "content-length" in headers:
            return self._exactly(int(headers["content-length"]))
        self.is_to_be_kept = False
        while piece := self.socket.recv(PIECE):
            self._left += piece
        return self._exactly(len(self._left))

    def _chunk(self) -> bytes:
        """Empty for the last one, behind which there may be headers."""
        chunk = self._exactly(int(self._until(b"\r\n").partition(b";")[0], 16))
        while self._until(b"\r\n") and not chunk:
            pass
        return chunk

    def _until(self, end: bytes) -> bytes:
        while (at := self._left.find(end)) < 0:
            if len(self._left) > LONGEST_HEAD:
                raise Broken("the head of the answer does not end")
            self._more()
        return self._exactly(at + len(end))[:at]

    def _exactly(self, count: int) -> bytes:
        if count < 0:
            raise ValueError(count)
        while len(self._left) < count:
            self._more()
        taken = bytes(self._left[:count])
        del self._left[:count]
        return taken

    def _more(self) -> None:
        piece = self.socket.recv(PIECE)
        if not piece:
            raise Broken("the answer ends in the middle")
        self._left += piece


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
