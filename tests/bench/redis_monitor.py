"""The commands that a Redis was given between two moments, as its MONITOR tells them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from redis import Redis

OURS = "ragcore:"  # what our keys and channels begin with; Celery's do not
SCRIPTED = ("EVAL", "EVALSHA")
KEYLESS = ("CLIENT", "EXEC", "HELLO", "INFO", "MULTI", "PING", "SCRIPT", "SELECT", "TIME")
LONGEST = 90  # characters of a command that are shown


@dataclass(frozen=True)
class Command:
    port: int  # the client's
    words: tuple[str, ...]
    in_script: bool  # called by a Lua script: no round trip of its own

    @property
    def key(self) -> str:
        """The first key or channel; empty where a command has none."""
        if self.words[0] in KEYLESS:
            return ""
        place = 3 if self.words[0] in SCRIPTED else 1
        return self.words[place] if len(self.words) > place else ""

    @property
    def of_celery(self) -> bool:
        return bool(self.key) and not self.key.startswith(OURS)

    def __str__(self) -> str:
        shown = (self.words[0], self.key) if self.words[0] in SCRIPTED else self.words
        return " ".join(shown)[:LONGEST]


def split(commands: list[Command]) -> tuple[list[Command], list[Command]]:
    """Ours and Celery's, those inside scripts left out.

    What has no key (PING, MULTI) belongs to whom its connection belongs to; to us, where that is unknown.
    """
    trips = [command for command in commands if not command.in_script]
    celery = {command.port for command in trips if command.of_celery}
    return [c for c in trips if c.port not in celery], [c for c in trips if c.port in celery]


@contextmanager
def monitored(url: str) -> Iterator[list[Command]]:
    """The list is complete when the context has been left."""
    redis = Redis.from_url(url, decode_responses=True)
    seen: list[Command] = []
    listening, heard_the_end = threading.Event(), threading.Event()

    def listen() -> None:
        with Redis.from_url(url).monitor() as monitor:
            listening.set()
            for told in monitor.listen():
                words = tuple(told["command"].split(" "))
                if words[0] == "ECHO":
                    heard_the_end.set()
                    return
                port = int(told["client_port"]) if told["client_type"] == "tcp" else 0
                seen.append(Command(port, (words[0].upper(), *words[1:]), told["client_type"] == "lua"))

    redis.ping()  # connected: from here on its one command is the ECHO
    threading.Thread(target=listen, daemon=True).start()
    assert listening.wait(5)
    try:
        yield seen
    finally:
        redis.echo("the end")
        assert heard_the_end.wait(5)
        redis.close()
