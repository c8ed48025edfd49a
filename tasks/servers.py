"""What Celery needs of the servers of the configuration: the settings of its broker, which is the Redis or one of its
own, and the Redis of RedBeat."""

import ssl
from typing import Any

from celery import Celery
from redis import Redis

from ragcore.config import Config
from ragcore.redis_pool import connection_pool, sentinel_options
from ragcore.servers import Sentinels, Servers

Settings = dict[str, Any]

TIMEOUT = 5  # seconds
CONFIRMED_WITHIN = 3  # seconds, of a message by a broker of its own
CONNECTED_WITHIN = 2  # seconds
ABOVE_LONGEST_JOB = 4  # times a job's time limit: after that Redis delivers an unacknowledged message again
TIMES = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
AT_ONCE = {"max_retries": 0}  # of an enqueue: who enqueues is told at once, and answers 503


def settings_of(config: Config) -> Settings:
    """Of the broker."""
    return _amqp(config.broker.url) if config.broker.url else _redis(config)


def _redis(config: Config) -> Settings:
    longest = max(config.jobs.rag_index.timeout, config.jobs.rag_query.timeout)
    options = {"visibility_timeout": int(longest * ABOVE_LONGEST_JOB), **TIMES, **AT_ONCE}
    settings = {"broker_transport_options": options, "task_publish_retry": False, "task_default_priority": 0}
    url = config.redis.url
    sentinels = Sentinels.parse(url)
    if sentinels is None:
        return settings | {"broker_url": url, "broker_use_ssl": _tls(url.startswith("rediss"))}
    options |= {"master_name": sentinels.service, "sentinel_kwargs": sentinel_options(sentinels)}
    urls = sentinels.servers.each("sentinel", f"/{sentinels.db}")
    return settings | {"broker_url": ";".join(urls), "broker_use_ssl": _tls(sentinels.has_tls)}


def _tls(has_tls: bool) -> Settings | None:
    """kombu would take any certificate."""
    return {"ssl_cert_reqs": ssl.CERT_REQUIRED} if has_tls else None


def _amqp(url: str) -> Settings:
    """A message is enqueued when the broker says so: one that is sent to a connection that broke is lost in silence.
    Once more, as each connection that waits in the pool is broken after a restart."""
    servers = Servers.parse(url)
    return {
        "broker_url": ";".join(servers.each(servers.scheme, servers.path)),
        "broker_transport_options": {"confirm_publish": True, **AT_ONCE},
        "broker_connection_timeout": CONNECTED_WITHIN,
        "task_publish_retry": True,
        "task_publish_retry_policy": {"max_retries": 1, "interval_start": 0},
        "task_default_priority": 1,
        "task_queue_max_priority": 1,
    }


def last_priority(app: Celery) -> int:
    """Of what is taken when nothing else waits: RabbitMQ takes the highest first, Redis the lowest."""
    return 0 if declares_queues(app) else 9


def declares_queues(app: Celery) -> bool:
    """Whether the broker drops a message for a queue that it does not know. Redis has only those with messages."""
    return bool(app.conf.task_queue_max_priority)


def redis_of_beat(config: Config) -> Redis:
    return Redis(connection_pool=connection_pool(config.redis.url, decode_responses=True, **TIMES))
