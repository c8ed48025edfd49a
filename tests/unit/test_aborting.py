"""Calls that are broken off, over sockets of the loopback."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
import requests

from ragcore import loopback
from ragcore.aborting import Abortable, Aborted

HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"


class Server:
    """Answers a request with what stands first in `answers`; what is not whole waits for the client's next word."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.connections: list[int] = []  # for each request, the number of its connection
        self.closed = threading.Event()  # a client closed its connection
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            for number in range(100):
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, suppress(OSError):
            received = b""
            while piece := connection.recv(65536):
                received += piece
                if received.endswith(b"\r\n\r\nq"):
                    received = b""
                    self.connections.append(number)
                    connection.sendall(self.answers.pop(0))
        self.closed.set()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def session() -> requests.Session:
    return loopback.session()


class Asked:
    """A call in a thread of its own."""

    def __init__(self, session: requests.Session, url: str, call: Abortable) -> None:
        self.result: list[Any] = []
        self.headers = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(session, url, call), daemon=True)
        self._thread.start()

    def _run(self, session: requests.Session, url: str, call: Abortable) -> None:
        try:
            with call.under_way(), session.post(url, data=b"q", stream=True, timeout=10) as response:
                self.headers.set()
                self.result.append(response.content)
        except (requests.RequestException, OSError) as error:
            self.result.append(error)

    def over(self) -> Any:
        self._thread.join(5)
        assert not self._thread.is_alive()
        return self.result[0]


def broken_off(call: Abortable, asked: Asked) -> None:
    """The client and the server are free at once."""
    began = time.monotonic()
    call.abort()
    assert isinstance(asked.over(), requests.RequestException)
    assert time.monotonic() - began < 0.3


def test_a_call_that_is_aborted_before_it_begins_sends_nothing(server: Server, session: requests.Session) -> None:
    call = Abortable()
    call.abort()
    error = Asked(session, server.url, call).over()
    assert isinstance(error, requests.RequestException | Aborted)
    assert server.connections == []


def test_a_call_is_aborted_while_it_waits_for_its_headers(
    server: Server, session: requests.Session, until: Callable
) -> None:
    server.answers.append(b"")
    call = Abortable()
    asked = Asked(session, server.url, call)
    until(lambda: server.connections)
    broken_off(call, asked)
    assert server.closed.wait(0.3)


@pytest.mark.parametrize("answer", [CHUNKED, HEADERS + b"hi"], ids=["chunked", "with a length"])
def test_a_call_is_aborted_inside_its_body(server: Server, session: requests.Session, answer: bytes) -> None:
    server.answers.append(answer)
    call = Abortable()
    asked = Asked(session, server.url, call)
    assert asked.headers.wait(5)
    broken_off(call, asked)
    assert server.closed.wait(0.3)


def test_a_call_that_is_aborted_while_a_kept_connection_waits_sends_nothing(
    server: Server, session: requests.Session
) -> None:
    server.answers.append(HEADERS + b"good")
    Asked(session, server.url, Abortable()).over()
    call = Abortable()
    call.abort()
    assert isinstance(Asked(session, server.url, call).over(), requests.RequestException | Aborted)
    assert server.connections == [0]


def test_a_connection_is_kept_for_the_next_call(server: Server, session: requests.Session) -> None:
    server.answers += [HEADERS + b"good"] * 2
    assert [Asked(session, server.url, Abortable()).over() for _ in range(2)] == [b"good"] * 2
    assert server.connections == [0, 0]


def test_after_an_abort_the_next_call_is_answered(server: Server, session: requests.Session, until: Callable) -> None:
    server.answers += [b"", HEADERS + b"good"]
    call = Abortable()
    asked = Asked(session, server.url, call)
    until(lambda: server.connections)
    broken_off(call, asked)
    assert Asked(session, server.url, Abortable()).over() == b"good"


@pytest.mark.parametrize("later", [Abortable(), None], ids=["another call", "a request that cannot be aborted"])
def test_an_abort_that_comes_late_leaves_the_next_call_of_the_connection_alone(
    server: Server, session: requests.Session, until: Callable, later: Abortable | None
) -> None:
    """Its own call is over, and its connection was given to the next one."""
    server.answers += [HEADERS + b"good", HEADERS + b"go"]
    call = Abortable()
    Asked(session, server.url, call).over()
    if later is None:
        with session.post(server.url, data=b"q", stream=True, timeout=10) as response:
            call.abort()
            assert response.raw.read(2) == b"go"
            assert not server.closed.wait(0.1)
        return
    asked = Asked(session, server.url, later)
    assert asked.headers.wait(5)
    assert server.connections == [0, 0]
    call.abort()
    assert not server.closed.wait(0.1)
    broken_off(later, asked)


def test_an_abort_concerns_its_own_call_only(server: Server, session: requests.Session) -> None:
    server.answers += [HEADERS + b"go", HEADERS + b"go"]
    one, two = Abortable(), Abortable()
    first, second = Asked(session, server.url, one), Asked(session, server.url, two)
    assert first.headers.wait(5)
    assert second.headers.wait(5)
    broken_off(one, first)
    assert second.result == []
    broken_off(two, second)


def test_an_abort_is_harmless_when_there_is_nothing_to_abort(server: Server, session: requests.Session) -> None:
    call = Abortable()
    server.answers.append(HEADERS + b"good")
    assert Asked(session, server.url, call).over() == b"good"
    call.abort()
    call.abort()


@pytest.mark.parametrize(
    "answer", [b"", CHUNKED, HEADERS + b"hi"], ids=["before the headers", "chunked", "in its body"]
)
def test_a_call_ends_when_its_time_is_over(server: Server, session: requests.Session, answer: bytes) -> None:
    server.answers.append(answer)
    call = Abortable()
    began = time.monotonic()
    call.abort_after(0.2)
    assert isinstance(Asked(session, server.url, call).over(), requests.RequestException)
    assert 0.2 <= time.monotonic() - began < 2


def test_the_time_of_a_call_can_be_changed_while_it_is_under_way(
    server: Server, session: requests.Session, until: Callable
) -> None:
    server.answers.append(b"")
    call = Abortable()
    call.abort_after(60)
    asked = Asked(session, server.url, call)
    until(lambda: server.connections)
    call.abort_after(0.1)
    call.abort_after(0.4)
    began = time.monotonic()
    assert isinstance(asked.over(), requests.RequestException)
    assert 0.3 <= time.monotonic() - began < 2


def test_who_watches_a_thousand_calls_works_for_none_of_them() -> None:
    calls = [Abortable() for _ in range(1000)]
    with ExitStack() as stack:
        for call in calls:
            call.abort_after(60)
            stack.enter_context(call.under_way())
        (watching,) = [thread for thread in threading.enumerate() if thread.name == "late calls"]
        clock = time.pthread_getcpuclockid(watching.ident or 0)
        began = time.clock_gettime(clock)
        for call in calls:
            call.abort_after(30)
        time.sleep(0.5)
    assert time.clock_gettime(clock) - began < 0.02
