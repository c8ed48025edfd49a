"""The Celery app. A message is acknowledged after its job; claims and locks make a second delivery harmless."""

from celery import Celery
from kombu import Exchange, Queue
from redbeat.schedulers import REDBEAT_REDIS_KEY

from ragcore import config
from ragcore.config import Config
from tasks import broker, servers

INDEX = "rag-index"
QUERY = "rag-query"
SCHEDULE = "rag-schedule"
QUEUES = (INDEX, QUERY, SCHEDULE)
BEAT = "ragcore:beat:"  # RedBeat's keys
BEAT_LOCK = f"{BEAT}lock"

MODULES = ("tasks.rag_index", "tasks.rag_query", "tasks.schedule", "tasks.starting", "tasks.ending")


def create_app(settings: Config) -> Celery:
    app = Celery("ragcore", include=MODULES)
    app.conf.update(
        servers.settings_of(settings),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a Redis that is out of memory is no reason to end
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_routes={f"{name}.*": {"queue": name} for name in QUEUES},
        # a worker without options takes all; each has an exchange of its own, so that no message goes to two
        task_queues=[Queue(name, Exchange(name), routing_key=name) for name in QUEUES],
        task_default_queue=INDEX,
        worker_prefetch_multiplier=1,
        worker_consumer="tasks.broker:Consumer",
        result_expires=None,  # there are none: beat need not send a task that removes them
        beat_scheduler="redbeat.RedBeatScheduler",
        beat_max_loop_interval=1,
        redbeat_redis_url=settings.redis.url,  # neither is used: it is handed its Redis, below
        redbeat_redis_options={},
        redbeat_key_prefix=BEAT,
        redbeat_lock_key=BEAT_LOCK,
        redbeat_lock_timeout=10,  # seconds: so soon another takes over from one that was killed
    )
    setattr(app, REDBEAT_REDIS_KEY, servers.redis_of_beat(settings))
    return app


broker.mend()
app = create_app(config.load())
