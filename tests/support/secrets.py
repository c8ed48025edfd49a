"""What must be in no log, event or job: looked for in all that a stack has left behind."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

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
IN_URL = r"bearer_token=[^\s&\"'*]"
OF_TESTS = {API_KEY, PASSWORD, ACCOUNT_KEY, PASSPHRASE, DATABASE_PASSWORD, *PROVIDER_PARTS}


class StackWithPasswords(Stack):
    """Its processes know the database by a URL with a password, which the database does not ask for."""

    def _choose_ports(self, names: Sequence[str], preferred: dict[str, int]) -> None:
        super()._choose_ports(names, preferred)
        url = self.url("couchdb").replace("//", f"//{DATABASE_USER}:{DATABASE_PASSWORD}@")
        self._layout.write_config({**self._config, "couchdb": {"url": url}})


def leaks(runtime: Runtime, logs: Path) -> list[str]:
    """Where a secret was found: never the secret itself."""
    secret = secrets(runtime)
    places = (*_logs(logs), *_redis(runtime.redis), *_documents(runtime))
    return sorted({f"{place}: ...{_around(text, found)}" for place, text in places if (found := secret.search(text))})


def secrets(runtime: Runtime) -> re.Pattern[str]:
    """The keys of the configuration, of the instances and of the accounts of tests; tokens, private keys."""
    kept = set(OF_TESTS)
    for doc in runtime.store.all(GLOBAL, "instances"):
        kept |= {str(value) for name, value in doc.items() if name.endswith("_secret")}
    return re.compile("|".join([JWT, PEM, IN_URL, *map(re.escape, kept)]))


def _around(text: str, found: re.Match[str]) -> str:
    return f"{text[max(found.start() - 80, 0) : found.start()]}***"


def _logs(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.glob("*.log"):
        yield path.name, path.read_text(errors="replace")


def _redis(redis: Redis) -> Iterator[tuple[str, str]]:
    """The keys, and what is in them: messages, histories, claims."""
    read = {
        "string": redis.get,
        "list": lambda key: redis.lrange(key, 0, -1),
        "hash": redis.hgetall,
        "set": redis.smembers,
        "zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
        "stream": redis.xrange,
    }
    for key in redis.scan_iter(count=1000):
        yield "Redis", f"{key} {read[kind](key)}" if (kind := redis.type(key)) in read else str(key)


def _documents(runtime: Runtime) -> Iterator[tuple[str, str]]:
    yield from ((f"{LEDGER} {doc['_id']}", str(doc)) for doc in runtime.store.all(GLOBAL, LEDGER))
    for instance in runtime.instances.all():
        yield from ((f"{JOBS} of {instance.domain}", str(doc)) for doc in runtime.store.all(instance, JOBS))
