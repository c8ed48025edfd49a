import pytest
from redbeat.schedulers import get_redis

from ragcore.config import Config
from ragcore.jobs import AnswerJob, FeedJob, SummaryJob, WalkJob, to_message
from tasks.app import INDEX, QUERY, QUEUES, app, create_app
from tasks.servers import last_priority


def test_the_broker_is_the_configured_redis() -> None:
    assert create_app(Config.model_validate({"redis": {"url": "redis://h:1/2"}})).conf.broker_url == "redis://h:1/2"


@pytest.mark.parametrize(("index", "query", "longest"), [(60, 900, 900), (3600, 900, 3600)])
def test_a_message_is_not_delivered_again_while_its_job_can_run(index: int, query: int, longest: int) -> None:
    config = Config.model_validate({"jobs": {"rag-index": {"timeout": index}, "rag-query": {"timeout": query}}})
    timeout = create_app(config).conf.broker_transport_options["visibility_timeout"]
    assert isinstance(timeout, int)
    assert timeout > longest


def test_a_message_is_acknowledged_after_its_job() -> None:
    conf = create_app(Config()).conf
    assert conf.task_acks_late
    assert conf.task_reject_on_worker_lost
    assert conf.worker_prefetch_multiplier == 1


def test_who_enqueues_is_told_at_once() -> None:
    assert create_app(Config()).conf.task_publish_retry is False


def test_the_broker_behind_sentinels() -> None:
    url = "redis+sentinel://:p@one,two:1/main/2"
    app = create_app(Config.model_validate({"redis": {"url": url}}))
    conf = app.conf
    assert get_redis(app).connection_pool.service_name == "main"
    assert conf.broker_url == "sentinel://:p@one/2;sentinel://:p@two:1/2"
    assert conf.broker_transport_options["master_name"] == "main"


def test_a_broker_of_its_own_confirms_what_it_is_sent() -> None:
    app = create_app(Config.model_validate({"broker": {"url": "amqp://u:p@one:1,two/v"}}))
    assert app.conf.broker_url == "amqp://u:p@one:1/v;amqp://u:p@two/v"
    assert app.conf.broker_transport_options["confirm_publish"]
    assert get_redis(app).connection_pool.connection_kwargs["port"] == 6379


def test_what_nobody_waits_for_is_taken_last() -> None:
    """The lowest is the first of Redis, and the last of RabbitMQ, whose queues must know of priorities."""
    of_redis = create_app(Config())
    assert of_redis.conf.task_default_priority < last_priority(of_redis)
    of_rabbitmq = create_app(Config.model_validate({"broker": {"url": "amqp://h/"}}))
    assert of_rabbitmq.conf.task_default_priority > last_priority(of_rabbitmq)
    arguments = [queue.queue_arguments for queue in of_rabbitmq.amqp.queues.values()]
    assert arguments == [{"x-max-priority": of_rabbitmq.conf.task_default_priority}] * len(QUEUES)


@pytest.mark.parametrize(
    ("name", "queue", "job"),
    [
        ("rag-query.answer", QUERY, AnswerJob("d", "p", "c", "q")),
        ("rag-query.grounded", QUERY, AnswerJob("d", "p", "c", "q", surface="ask")),
        ("rag-query.summarize", QUERY, SummaryJob("d", "p", "c")),
        ("rag-index.feed", INDEX, FeedJob("d")),
        ("rag-index.walk", INDEX, WalkJob("d", "x")),
    ],
)
def test_each_job_has_its_task_and_its_queue(name: str, queue: str, job: object) -> None:
    app.loader.import_default_modules()
    assert name in app.tasks
    routed = app.amqp.router.route({}, name, kwargs=to_message(job))
    assert routed["queue"].name == queue
