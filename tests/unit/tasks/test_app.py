import pytest

from ragcore.config import Config
from ragcore.jobs import AnswerJob, FeedJob, WalkJob, to_message
from tasks.app import INDEX, QUERY, app, create_app


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


@pytest.mark.parametrize(
    ("name", "queue", "job"),
    [
        ("rag-query.answer", QUERY, AnswerJob("d", "p", "c", "q")),
        ("rag-index.feed", INDEX, FeedJob("d")),
        ("rag-index.walk", INDEX, WalkJob("d", "x")),
    ],
)
def test_each_job_has_its_task_and_its_queue(name: str, queue: str, job: object) -> None:
    app.loader.import_default_modules()
    assert name in app.tasks
    routed = app.amqp.router.route({}, name, kwargs=to_message(job))
    assert routed["queue"].name == queue
