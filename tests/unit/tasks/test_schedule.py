"""The entries of beat."""

import pytest

from ragcore.config import Config
from tasks.app import BEAT_LOCK, SCHEDULE, app, create_app
from tasks.schedule import ENTRIES


def test_beat_has_the_entries_and_no_other() -> None:
    assert app.conf.beat_schedule is ENTRIES
    assert not app.conf.result_expires  # beat would add one of its own


@pytest.mark.parametrize("name", ENTRIES)
def test_each_entry_is_a_task_of_the_queue_and_expires(name: str) -> None:
    entry = ENTRIES[name]
    app.loader.import_default_modules()
    assert entry["task"] in app.tasks
    assert app.amqp.router.route({}, entry["task"])["queue"].name == SCHEDULE
    assert 0 < entry["options"]["expires"] <= max(entry["schedule"], 5)


def test_another_beat_takes_over_soon_on_the_redis_of_the_configuration() -> None:
    conf = create_app(Config.model_validate({"redis": {"url": "redis://h:1/2"}})).conf
    assert conf.redbeat_redis_url == "redis://h:1/2"
    assert conf.redbeat_lock_timeout + conf.beat_max_loop_interval < 15
    assert conf.redbeat_lock_key == BEAT_LOCK
    assert BEAT_LOCK.startswith("ragcore:beat:")
