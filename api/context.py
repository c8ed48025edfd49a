"""What a request works with: the process's runtime and queue, the instance of the host, the token's rights."""

import json
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flask import current_app, g, request
from werkzeug.exceptions import RequestEntityTooLarge

from api.limits import ChatLimit, SocketLimit
from ragcore.documents import CONVERSATIONS, FILES
from ragcore.errors import Invalid
from ragcore.indexing.reports import Reports
from ragcore.instances import Instance
from ragcore.jobs import Queue
from ragcore.keys import read_bearer
from ragcore.permissions import Permissions
from ragcore.runtime import Runtime


@dataclass(frozen=True)
class API:
    runtime: Runtime
    queue: Queue

    @cached_property
    def reports(self) -> Reports:
        return Reports(self.runtime.store, self.runtime.redis)

    @cached_property
    def chat_limit(self) -> ChatLimit:
        return ChatLimit(self.runtime.config.limits.chat_per_minute)

    @cached_property
    def socket_limit(self) -> SocketLimit:
        return SocketLimit(self.runtime.config.limits.sockets_per_token)


def api() -> API:
    made: API = current_app.extensions["ragcore"]
    return made


def instance() -> Instance:
    """The instance of the `Host` header. Raises NotFound."""
    if "instance" not in g:
        g.instance = api().runtime.instances.of_host(request.host)
    found: Instance = g.instance
    return found


def permissions() -> Permissions:
    """The rights of the request's token, or API key. Raises InvalidToken."""
    return read_bearer(api().runtime.store, instance(), token())


def require_chat() -> None:
    """A chat can quote any file. Raises InvalidToken, Forbidden."""
    rights = permissions()
    rights.require("POST", CONVERSATIONS)
    rights.require("GET", FILES)


def token() -> str:
    """`Authorization: Bearer`, or the password of a Basic header, or `?bearer_token=`."""
    given = request.authorization
    if given is not None and given.type == "bearer":
        return given.token or ""
    if given is not None and given.type == "basic":
        return given.password or ""
    return request.args.get("bearer_token", "")


def body_is_streamed() -> None:
    """For a body that is not held in memory: the guard is for what is parsed here. (None would mean the guard.)"""
    request.max_content_length = sys.maxsize


def json_body(largest: int = sys.maxsize) -> Any:
    """The body as JSON, whatever its content type says, of `largest` bytes where that is less than any body may have.

    Raises Invalid, RequestEntityTooLarge.
    """
    data = _body(min(largest, current_app.config["MAX_CONTENT_LENGTH"] or largest))
    try:
        text = data.decode("utf-8")
        body = json.loads(text, parse_constant=_no_constant)
        if "\\u" in text:
            json.dumps(body, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        raise Invalid("the body is not JSON") from None
    return body


def _body(largest: int) -> bytes:
    """One that comes in chunks is cut off without a word where it is too long: a byte more tells."""
    request.max_content_length = largest + 1
    data = request.get_data()
    if len(data) > largest:
        raise RequestEntityTooLarge
    return data


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
