"""A client of HTTP that costs little: JSON over one connection that is kept, for loads from one process."""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ragcore import loopback


class Kept:
    """`headers` go with each request, the credentials of the URL too."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        found, host = loopback.resolve(url)
        self._server = urlsplit(found)
        lines = {"Host": host, "Content-Type": "application/json", **headers}
        if self._server.username:
            credentials = f"{self._server.username}:{self._server.password}".encode()
            lines["Authorization"] = f"Basic {base64.b64encode(credentials).decode()}"
        self._head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())

    async def __aenter__(self) -> "Kept":
        self._reader, self._writer = await asyncio.open_connection(self._server.hostname, self._server.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status, and the JSON of the answer."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n"
        self._writer.write(head.encode() + content)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        return int(answer[9:12]), json.loads(await self._reader.readexactly(length))
