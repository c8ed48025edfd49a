"""What a process works with: its connections, made from the configuration, nothing connected yet."""

import logging
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import requests
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from ragcore import loopback
from ragcore.budgets import Budgets
from ragcore.claims import Claims
from ragcore.config import Config
from ragcore.events import Event, History, Publisher, Subscriber, Unpublished
from ragcore.files.storage import Storage
from ragcore.instances import Instance, Instances
from ragcore.openrag import OpenRag
from ragcore.questions import Questions
from ragcore.redis_pool import connection_pool
from ragcore.store import Store
from ragcore.vault import Sealer, Vault

log = logging.getLogger(__name__)

REDIS_TIMEOUT = 5.0  # seconds
REDIS_CONNECTIONS = 100  # of a process
TRIGGERS = "io.cozy.triggers"
NEW_DATABASE = "ragcore:databases"  # the channel on which a new database is told
CONNECTIONS = 1000  # to openRAG, as many as a full pool of query workers


@dataclass(frozen=True)
class Runtime:
    """`ending` is set when the process was told to end: no work is begun, and what can go on elsewhere does."""

    config: Config
    ending: threading.Event = field(default_factory=threading.Event, compare=False)

    @cached_property
    def redis(self) -> Redis:
        # without retries of its own: who calls decides, and a renewed subscription would lose events in silence
        pool = connection_pool(
            self.config.redis.url,
            max_connections=REDIS_CONNECTIONS,
            protocol=2,  # the messages of a subscription cost redis-py twice as much in the third
            timeout=REDIS_TIMEOUT,  # whoever comes when all are in use waits: a rush is no outage
            decode_responses=True,
            socket_timeout=REDIS_TIMEOUT,
            socket_connect_timeout=REDIS_TIMEOUT,
            retry=Retry(NoBackoff(), 0),
            health_check_interval=30,
        )
        return Redis(connection_pool=pool)

    @cached_property
    def publisher(self) -> Publisher:
        return Publisher(self.redis)

    @cached_property
    def subscriber(self) -> Subscriber:
        return Subscriber(self.redis)

    @cached_property
    def history(self) -> History:
        return History(self.redis)

    @cached_property
    def questions(self) -> Questions:
        return Questions(self.redis)

    @cached_property
    def claims(self) -> Claims:
        return Claims(self.redis)

    @cached_property
    def store(self) -> Store:
        return Store(self.config.couchdb.url, self._tell_of_write, self._tell_of_database)

    def _tell_of_write(self, domain: str, event: Event) -> None:
        try:
            self.publisher.publish(domain, event)
        except Unpublished as error:  # it is written all the same
            log.warning("%s: the write of %s is not announced: %s", domain, event.id, error)
        if event.type == TRIGGERS:
            with suppress(RedisError):
                self.redis.incr(version_key(domain))

    def _tell_of_database(self, name: str) -> None:
        """The watcher follows it at once; without this, soon."""
        with suppress(RedisError):
            self.redis.publish(NEW_DATABASE, name)

    @cached_property
    def instances(self) -> Instances:
        return Instances(self.store)

    @cached_property
    def budgets(self) -> Budgets:
        return Budgets(self.config, self.redis, self.store)

    @cached_property
    def storage(self) -> Storage:
        return Storage(self.config.fs.url)

    @cached_property
    def vault(self) -> Vault:
        """Raises ConfigError when its key file is none."""
        return Vault.load(self.config.vault)

    @cached_property
    def sealer(self) -> Sealer:
        """Raises ConfigError when its key file is none."""
        return Sealer.load(self.config.vault)

    @cached_property
    def session(self) -> requests.Session:
        return loopback.session(CONNECTIONS)

    def openrag(self, instance: Instance) -> OpenRag:
        """The client of the instance's server, for its partition."""
        return OpenRag(self.session, instance.rag_server(self.config), instance.domain)


def version_key(domain: str) -> str:
    """Counts the writes of an instance's triggers."""
    return f"ragcore:triggers:{{{domain}}}"
