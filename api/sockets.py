"""One client's websocket: its subscriptions, and a bounded queue of what is to be sent to it.

The events of a question that is subscribed to by its id begin with what was published before: first the
history, then the live events, no gap and no double.
"""

import json
import logging
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from simple_websocket import ConnectionClosed, Server

from api.limits import SocketLimit
from api.outbox import PATIENCE, Full, Outbox
from ragcore.documents import CONVERSATIONS
from ragcore.errors import RagcoreError, Retryable, TooMany
from ragcore.events import CHAT_EVENTS, Published, Subject
from ragcore.instances import Instance
from ragcore.keys import read_bearer
from ragcore.permissions import Permissions
from ragcore.runtime import Runtime

log = logging.getLogger(__name__)

AUTH_WITHIN = 10  # seconds
LARGEST_MESSAGE = 1024  # bytes, the token's message aside
MOST_WAITING, LARGEST_WAITING = 1000, 1 << 20  # commands of a client that wait to be obeyed, and their bytes
SEND_WITHIN = 60.0  # seconds; a peer that takes nothing for so long is gone
LINGER = 2.0  # seconds that are left to a client to see why its socket was closed
LARGEST_HELD = 100_000  # live events during a replay: as many as a history has
CLOSE_AFTER = 1.0  # seconds; who cannot subscribe is closed, and comes again at once

TEXT = 0x81  # a whole frame of text
REST = ""  # in the outbox: nothing but what is left of a frame that was not taken at once

TOO_BIG, TOO_SLOW, TRY_AGAIN = 1009, 1008, 1013  # codes of closed websockets


@dataclass
class Subscription:
    """`held` is what comes live while the history is replayed; None when it goes out at once.

    `last` is the place of the last event that was replayed: the live channel may be behind the history.
    """

    held: list[Published] | None = None
    last: tuple[int, int] = (0, 0)


class CommandError(RagcoreError):
    """An error of the protocol: `status` and `code` as clients know them."""

    def __init__(self, status: str, code: str, title: str) -> None:
        super().__init__(title)
        self.status = status
        self.code = code


@dataclass
class Socket:
    websocket: Server
    runtime: Runtime
    instance: Instance
    limit: SocketLimit
    _subscriptions: dict[Subject, Subscription] = field(default_factory=dict)
    _outbox: Outbox = field(default_factory=Outbox)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        """Until the client goes, or is sent away."""
        self.websocket.sock = _WholeWrites(self.websocket.sock)
        self.websocket.input_buffer = _Commands(self.websocket.input_buffer)
        with suppress(ConnectionClosed, OSError):
            self._talk()
        self._end()

    def _talk(self) -> None:
        message = self.websocket.receive(timeout=AUTH_WITHIN)
        try:
            token, permissions = self._authenticate(message)
            with self.limit.one_more(token):
                self._serve(permissions)
        except CommandError as error:
            self.websocket.send(_error(error, {"method": "AUTH"}))
        except TooMany as error:
            refused = CommandError("429 Too Many Requests", "too many requests", str(error))
            self.websocket.send(_error(refused, {"method": "AUTH"}))

    def _end(self) -> None:
        with suppress(ConnectionClosed, OSError):
            self.websocket.close()
        self.websocket.sock.end()
        self.websocket.thread.join(LINGER)

    def _serve(self, permissions: Permissions) -> None:
        writer = threading.Thread(target=self._write, name="websocket writer", daemon=True)
        writer.start()
        try:
            while True:
                self._read(self.websocket.receive(), permissions)
        finally:
            for subject in list(self._subscriptions):
                self._unsubscribe(subject)
            self._outbox.close()

    def _authenticate(self, message: str | bytes | None) -> tuple[str, Permissions]:
        """The token, and what it may do. Raises CommandError."""
        try:
            method, payload = _command(message or "")
            if method == "AUTH" and isinstance(payload, str):
                return payload, read_bearer(self.runtime.store, self.instance, payload)
        except Retryable as error:  # only an API key is looked up
            raise CommandError("503 Service Unavailable", "service unavailable", str(error)) from None
        except RagcoreError:
            pass
        raise CommandError("401 Unauthorized", "unauthorized", "The authentication has failed")

    def _read(self, message: str | bytes, permissions: Permissions) -> None:
        if _size(message) > LARGEST_MESSAGE and not _is_auth(message):
            self.websocket.close(TOO_BIG, "Message is too big")
            raise ConnectionClosed(TOO_BIG)
        try:
            method, payload = _command(message)
            if method == "AUTH":
                return  # clients send it again with a new token, and that may be long
            self._obey(method, payload, permissions)
        except CommandError as error:
            self._send_now(_error(error, _json(message)))
        except Retryable as error:
            # published clients subscribe when they connect, and do not ask again after an error
            time.sleep(CLOSE_AFTER)
            self.websocket.close(TRY_AGAIN, str(error))
            raise ConnectionClosed(TRY_AGAIN) from None

    def _obey(self, method: str, payload: Any, permissions: Permissions) -> None:
        if method not in ("SUBSCRIBE", "UNSUBSCRIBE"):
            raise CommandError("405 Method Not Allowed", "method not allowed", f"The {method} method is not supported")
        doctype, doc_id = _subject(method, payload)
        if method == "UNSUBSCRIBE":
            self._unsubscribe((doctype, doc_id))
            return
        if not _may_subscribe(permissions, doctype, doc_id):
            raise CommandError("403 Forbidden", "forbidden", f"The application can't subscribe to {doctype}")
        self._subscribe(doctype, doc_id)

    def _subscribe(self, doctype: str, doc_id: str) -> None:
        replayed = doctype == CHAT_EVENTS and bool(doc_id)
        subject, subscription = (doctype, doc_id), Subscription([] if replayed else None)
        limit = self.runtime.config.limits.subscriptions_per_socket
        with self._lock:
            if limit and len(self._subscriptions) >= limit:
                raise CommandError("429 Too Many Requests", "too many requests", f"A socket has {limit} subscriptions")
            is_new = subject not in self._subscriptions
            self._subscriptions[subject] = subscription
        try:
            if is_new:
                self.runtime.subscriber.add(self.instance.domain, subject, self.on_event)
            if replayed:
                self._replay(subscription, doc_id)
        except Retryable:
            self._unsubscribe(subject)
            raise

    def _unsubscribe(self, subject: Subject) -> None:
        with self._lock:
            subscription = self._subscriptions.pop(subject, None)
        if subscription:
            self.runtime.subscriber.remove(self.instance.domain, subject, self.on_event)

    def _replay(self, subscription: Subscription, question: str) -> None:
        for event in self.runtime.history.of_question(self.instance.domain, question):
            self._send(event.text)
            subscription.last = event.order
        while held := self._held(subscription):
            for event in held:
                if event.order > subscription.last:
                    self._send(event.text)
                    subscription.last = event.order

    def _held(self, subscription: Subscription) -> list[Published]:
        """What has come meanwhile; when that is nothing, live events go out at once from now on."""
        with self._lock:
            held = subscription.held or []
            subscription.held = [] if held else None
        return held

    def on_event(self, event: Published) -> None:
        """Called by the subscriber's thread, which waits for nobody."""
        doctype, doc_id = event.subject
        with self._lock:
            # the one by id knows what was replayed: it decides, also where the whole doctype is subscribed to
            subscription = self._subscriptions.get((doctype, doc_id)) or self._subscriptions.get((doctype, ""))
            if subscription is None or event.order <= subscription.last:
                return
            if subscription.held is None:
                self._send_now(event.text)
            elif len(subscription.held) < LARGEST_HELD:
                subscription.held.append(event)
            else:
                self._cut_off()

    def _send(self, text: str) -> None:
        try:
            self._outbox.put(text, PATIENCE)
        except Full:
            self._cut_off()
            raise ConnectionClosed(TOO_SLOW) from None

    def _send_now(self, text: str) -> None:
        """Without the writer, where the connection takes it at once: to wake it takes longer than to send."""
        try:
            if not self._outbox.is_idle:
                self._outbox.put(text)
            elif self.websocket.connected:
                frame = _frame(text)
                taken = self.websocket.sock.send_now(frame)
                if taken < len(frame):
                    self._outbox.put(REST if taken else text)
        except (Full, OSError):
            self._cut_off()

    def _write(self) -> None:
        try:
            while (text := self._outbox.get()) is not None and self.websocket.connected:
                self.websocket.sock.send(_frame(text))
        except OSError:
            self._cut_off()

    def _cut_off(self) -> None:
        """Ends the connection under a client that is too slow: nobody waits for it."""
        self.websocket.sock.shut()


class _Commands(list[str | bytes]):
    """simple-websocket reads on while a command is obeyed, which a replay makes long: what waits is bounded."""

    def append(self, message: str | bytes) -> None:
        super().append(message)
        if len(self) > MOST_WAITING or sum(map(len, self)) > LARGEST_WAITING:
            raise ConnectionResetError("the client sends more than can be obeyed")  # the reader ends with it


class _WholeWrites:
    """simple-websocket writes from several threads without a lock, and does not look how much was written: two
    of them would corrupt a frame. Here a write is whole, and one at a time."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._sock.settimeout(SEND_WITHIN)  # reads come after a select
        self._lock = threading.Lock()
        self._rest = b""  # of what was begun

    def send(self, data: bytes) -> None:
        with self._lock:
            rest, self._rest = self._rest, b""
            self._sock.sendall(rest + data)

    def send_now(self, data: bytes) -> int:
        """Waits for nothing: how much was taken; nothing while a rest of what was begun is left, which `send` sends."""
        if isinstance(self._sock, ssl.SSLSocket) or not self._lock.acquire(blocking=False):
            return 0
        try:
            if self._rest:
                return 0
            # below gevent's own, which would wait
            taken: int = getattr(self._sock, "_sock", self._sock).send(data, socket.MSG_DONTWAIT)
            self._rest = data[taken:]
            return taken
        except BlockingIOError:
            return 0
        finally:
            self._lock.release()

    def end(self) -> None:
        """Nothing more is written; the client may still be writing."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Takes what still comes, for a while: a connection that is closed with unread bytes is reset, and its client
        would not see the reason."""
        self.end()
        until = time.monotonic() + LINGER
        with suppress(OSError):
            while (left := until - time.monotonic()) > 0:
                self._sock.settimeout(left)
                if not self._sock.recv(1 << 16):
                    break
        self._sock.close()

    def shut(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


@lru_cache(maxsize=1)
def _frame(text: str) -> bytes:
    """The same for all sockets that an event goes to: a server masks nothing, and compression is not negotiated."""
    if text == REST:
        return b""
    data = text.encode(errors="replace")
    if len(data) < 126:
        return bytes([TEXT, len(data)]) + data
    if len(data) < 1 << 16:
        return bytes([TEXT, 126]) + len(data).to_bytes(2, "big") + data
    return bytes([TEXT, 127]) + len(data).to_bytes(8, "big") + data


def _may_subscribe(permissions: Permissions, doctype: str, doc_id: str) -> bool:
    if permissions.allow("GET", doctype, doc_id):
        return True
    return doctype == CHAT_EVENTS and permissions.allow("GET", CONVERSATIONS)


def _command(message: str | bytes) -> tuple[str, Any]:
    body = _json(message)
    if not isinstance(body, dict) or not isinstance(body.get("method"), str):
        raise CommandError("400 Bad Request", "bad request", "A message is a JSON object with a method")
    return body["method"].upper(), body.get("payload")


def _is_auth(message: str | bytes) -> bool:
    try:
        return _command(message)[0] == "AUTH"
    except CommandError:
        return False


def _size(message: str | bytes) -> int:
    return len(message if isinstance(message, bytes) else message.encode(errors="replace"))


def _subject(method: str, payload: Any) -> tuple[str, str]:
    doctype = payload.get("type") if isinstance(payload, dict) else None
    if not isinstance(doctype, str) or not doctype:
        raise CommandError("404 Page Not Found", "page not found", f"The type parameter is mandatory for {method}")
    doc_id = payload.get("id")
    doc_id = doc_id if isinstance(doc_id, str) else ""
    if f"{doctype}{doc_id}".encode(errors="ignore").decode() != f"{doctype}{doc_id}":
        raise CommandError("400 Bad Request", "bad request", "The type and the id are texts")
    return doctype, doc_id


def _json(message: str | bytes) -> Any:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def _error(error: CommandError, source: Any) -> str:
    payload = {"status": error.status, "code": error.code, "title": str(error), "source": source}
    return json.dumps({"event": "error", "payload": payload})
