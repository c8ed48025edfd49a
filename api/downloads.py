"""A file's content as a response: streamed, to be saved, and never run as a page of ours."""

import os
import re
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from flask import Response

from ragcore.documents import File

PIECE = 1 << 16  # bytes
GUARDS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}


def download(file: File, content: BinaryIO) -> Response:
    """200. Closes the content, however the response ends."""
    response = Response(_pieces(content), content_type=file.mime, headers=GUARDS)
    response.call_on_close(content.close)
    response.content_length = os.fstat(content.fileno()).st_size
    response.headers["Content-Disposition"] = attachment(file.name)
    return tagged(response, file)


def tagged(response: Response, file: File) -> Response:
    """With what a client asks by whether the content is still the same."""
    response.headers["Cache-Control"] = "private, no-cache"
    if file.md5sum:
        response.set_etag(file.md5sum)
    return response


def attachment(name: str) -> str:
    """A Content-Disposition with the name as it is (RFC 6266), and for old clients in what is safe of ASCII."""
    plain = re.sub(r'[^ -~]|["%\\]', "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _pieces(content: BinaryIO) -> Iterator[bytes]:
    while piece := content.read(PIECE):
        yield piece
