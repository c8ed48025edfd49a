"""What must be in no log, event or job: looked for in all that a stack has left behind."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from redis import Redis

from deploy.local.layout import API_KEY
from deploy.local.stack import Stack
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.ledger import DOCTYPE as LEDGER
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL
from tests.support.vault import (
    ACCOUNT_KEY,
    DATABASE_PASSWORD,
    DATABASE_USER,
    PASSPHRASE,
    PASSWORD,
    PROVIDER_PARTS,
)

JWT = r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"
PEM = r"-----BEGIN [A-Z ]*(?:PRIVATE|NACL) KEY-----"
API_KEYS = r"rck_[0-9a-f]{16}_[0-9a-f]{64}"  # of instances
IN_URL = r"bearer_token=[^\s&\"'*]"
OF_TESTS = {API_KEY, PASSWORD, ACCOUNT_KEY, PASSPHRASE, DATABASE_PASSWORD, *PROVIDER_PARTS}

KEY = 88  # characters of a key of an instance, in base64, which ends with ==
SHAPES = {  # by their start
    "eyJ": re.compile(JWT),
    "-----BEGIN": re.compile(PEM),
    "bearer_token=": re.compile(IN_URL),
    "rck_": re.compile(API_KEYS),
}
READ: dict[str, Callable[[Redis, str], object]] = {
    "string": lambda redis, key: redis.get(key),
    "list": lambda redis, key: redis.lrange(key, 0, -1),
    "hash": lambda redis, key: redis.hgetall(key),
    "set": lambda redis, key: redis.smembers(key),
    "zset": lambda redis, key: redis.zrange(key, 0, -1, withscores=True),
    "stream": lambda redis, key: redis.xrange(key),
}


class StackWithPasswords(Stack):
    """Its processes know the database by a URL with a password, which the database does not ask for."""

    def _choose_ports(self, names: Sequence[str], preferred: dict[str, int]) -> None:
        super()._choose_ports(names, preferred)
        url = self.url("couchdb").replace("//", f"//{DATABASE_USER}:{DATABASE_PASSWORD}@")
        self._layout.write_config({**self._config, "couchdb": {"url": url}})


class Finder:
    """Finds the keys of the configuration, of the instances and of the accounts of tests; tokens, private keys."""

    def __init__(self, runtime: Runtime) -> None:
        docs = runtime.store.all(GLOBAL, "instances")
        self._keys = {str(value) for doc in docs for name, value in doc.items() if name.endswith("_secret")}

    def __call__(self, text: str) -> Iterator[int]:
        """The places of secrets in a text."""
        yield from (at for word in OF_TESTS if (at := text.find(word)) >= 0)
        for begin, shape in SHAPES.items():
            if begin in text:  # much quicker than the pattern, of the many megabytes that a run leaves
                yield from (found.start() for found in shape.finditer(text))
        end = text.find("==")
        while end >= 0:
            if text[max(end - KEY + 2, 0) : end + 2] in self._keys:
                yield end - KEY + 2
            end = text.find("==", end + 1)


def leaks(runtime: Runtime, logs: Path) -> list[str]:
    """Where a secret was found: never the secret itself."""
    finder = Finder(runtime)
    places = chain(_logs(logs), _redis(runtime.redis), _documents(runtime))
    return sorted({f"{place}: ...{_around(text, at)}" for place, text in places for at in finder(text)})


def _around(text: str, at: int) -> str:
    return f"{text[max(at - 80, 0) : at]}***"


def _logs(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.glob("*.log"):
        yield path.name, path.read_text(errors="replace")


def _redis(redis: Redis) -> Iterator[tuple[str, str]]:
    """The keys, and what is in them: messages, histories, claims."""
    keys = list(redis.scan_iter(count=1000))
    for some in (keys[start : start + 200] for start in range(0, len(keys), 200)):
        kinds = _of_each(redis, some, lambda pipe, key: pipe.type(key))
        reads = {key: READ[kind] for key, kind in zip(some, kinds, strict=True) if kind in READ}
        values = _of_each(redis, reads, lambda pipe, key, reads=reads: reads[key](pipe, key))
        yield "Redis", "\n".join(some)
        yield from (("Redis", f"{key} {value}") for key, value in zip(reads, values, strict=True))


def _of_each(redis: Redis, keys: Iterable[str], ask: Callable[[Redis, str], object]) -> list[Any]:
    with redis.pipeline(transaction=False) as pipe:
        for key in keys:
            ask(pipe, key)
        return pipe.execute()


def _documents(runtime: Runtime) -> Iterator[tuple[str, str]]:
    yield from ((f"{LEDGER} {doc['_id']}", str(doc)) for doc in runtime.store.all(GLOBAL, LEDGER))
    for instance in runtime.instances.all():
        yield from ((f"{JOBS} of {instance.domain}", str(doc)) for doc in runtime.store.all(instance, JOBS))
