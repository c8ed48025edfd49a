"""The Celery app. A message is acknowledged after its job; claims and locks make a second delivery harmless."""

from celery import Celery
from kombu import Exchange, Queue

from ragcore import config
from ragcore.config import Config
from tasks import broker

INDEX = "rag-index"
QUERY = "rag-query"
SCHEDULE = "rag-schedule"
QUEUES = (INDEX, QUERY, SCHEDULE)
BEAT = "ragcore:beat:"  # RedBeat's keys
BEAT_LOCK = f"{BEAT}lock"

MODULES = ("tasks.rag_index", "tasks.rag_query", "tasks.schedule", "tasks.sweep", "tasks.ending")
ABOVE_LONGEST_JOB = 4  # times a job's time limit: after that the broker delivers an unacknowledged message again


def create_app(settings: Config) -> Celery:
    app = Celery("ragcore", include=MODULES)
    longest = max(settings.jobs.rag_index.timeout, settings.jobs.rag_query.timeout)
    app.conf.update(
        broker_url=settings.redis.url,
        broker_transport_options={
            "visibility_timeout": int(longest * ABOVE_LONGEST_JOB),
            "socket_timeout": 5,
            "socket_connect_timeout": 5,
            "max_retries": 0,  # of an enqueue: who enqueues is told at once, and answers 503
        },
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a Redis that is out of memory is no reason to end
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_publish_retry=False,
        task_routes={f"{name}.*": {"queue": name} for name in QUEUES},
        # a worker without options takes all; each has an exchange of its own, so that no message goes to two
        task_queues=[Queue(name, Exchange(name), routing_key=name) for name in QUEUES],
        task_default_queue=INDEX,
        worker_prefetch_multiplier=1,
        result_expires=None,  # there are none: beat need not send a task that removes them
        beat_scheduler="redbeat.RedBeatScheduler",
        beat_max_loop_interval=1,
        redbeat_redis_url=settings.redis.url,
        redbeat_redis_options={"socket_timeout": 5, "socket_connect_timeout": 5},
        redbeat_key_prefix=BEAT,
        redbeat_lock_key=BEAT_LOCK,
        redbeat_lock_timeout=10,  # seconds: so soon another takes over from one that was killed
    )
    return app


broker.mend()
app = create_app(config.load())
