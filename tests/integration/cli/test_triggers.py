"""`ragcore triggers`."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.triggers.documents import Triggers
from tests.support.cli import Result, one_line

FEED = {"doctype": "io.cozy.files"}
Command = Callable[..., Result]


@pytest.fixture
def triggers(ragcore: Command, instance: Instance) -> Command:
    return lambda name, *words: ragcore("triggers", name, "--domain", instance.domain, *words)


def test_a_new_instance_has_the_two_triggers_of_its_index(ragcore: Command) -> None:
    domain = f"i{uuid.uuid4().hex[:8]}.localhost"
    assert ragcore("instances", "add", domain).returncode == 0
    listed = json.loads(ragcore("triggers", "ls", "--domain", domain, "--json").stdout)
    told = [(each["type"], each["arguments"], each["debounce"], each["worker"], each["message"]) for each in listed]
    assert sorted(told) == [
        ("@event", "io.cozy.ai.chat.assistants", "", "rag-index", FEED),
        ("@event", "io.cozy.files", "30s", "rag-index", FEED),
    ]


def test_a_trigger_from_its_beginning_to_its_end(
    triggers: Command, runtime: Runtime, instance: Instance, until: Callable
) -> None:
    added = json.loads(triggers("add", "@daily", "between", "2am", "and", "5am", "--json").stdout)
    assert (added["type"], added["arguments"], added["message"]) == ("@daily", "between 2am and 5am", FEED)
    assert "never launched" in triggers("ls").stdout
    job = json.loads(triggers("launch", added["id"], "--json").stdout)["job"]
    documents = Triggers(runtime.store, instance)
    until(lambda: documents.state(added["id"])["status"] == "done")
    assert documents.state(added["id"])["last_manual_job_id"] == job
    (line,) = triggers("ls").stdout.splitlines()
    assert line.startswith(f"{added['id']}  @daily between 2am and 5am  rag-index: done 20")
    assert added["id"] in triggers("rm", added["id"]).stdout
    assert triggers("ls").stdout == ""
    assert triggers("ls", "--json").stdout == "[]\n"


def test_a_trigger_with_everything(triggers: Command) -> None:
    message: dict[str, Any] = FEED | {"reconcile_dir_id": "abc"}
    words = ("io.cozy.files:UPDATED:!=:name", "io.cozy.files:CREATED", "--debounce", "1m", "--message")
    assert triggers("add", "@event", *words, json.dumps(message)).returncode == 0
    (listed,) = json.loads(triggers("ls", "--json").stdout)
    assert listed["arguments"] == "io.cozy.files:UPDATED:!=:name io.cozy.files:CREATED"
    assert (listed["debounce"], listed["message"]) == ("1m", message)
    assert "(debounce 1m)" in triggers("ls").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "@cron", "0 0 * * *"], "six fields"),
        (["add", "@sometimes"], "@cron"),
        (["add", "@event", "io.cozy.files", "--debounce", "soon"], "duration"),
        (["add", "@event", "io.cozy.files", "--message", "{"], "not JSON"),
        (["add", "@event", "io.cozy.files", "--worker", "rag-query"], "reserved"),
        (["rm", "unknown"], "no trigger unknown"),
        (["launch", "unknown"], "no trigger unknown"),
    ],
)
def test_a_failure_is_one_line(triggers: Command, words: list[str], said: str) -> None:
    assert said in one_line(triggers(*words))


def test_an_unknown_instance(ragcore: Command) -> None:
    assert "nobody.localhost" in one_line(ragcore("triggers", "ls", "--domain", "nobody.localhost"))
