"""`ragcore keys`."""

import json
import re
from collections.abc import Callable

import pytest

from ragcore.documents import CONVERSATIONS, FILES
from ragcore.instances import Instance
from ragcore.keys import Keys
from ragcore.permissions import InvalidToken
from ragcore.runtime import Runtime
from tests.support.cli import Result, one_line

Command = Callable[..., Result]


@pytest.fixture
def keys(ragcore: Command, instance: Instance) -> Command:
    return lambda name, *words: ragcore("keys", name, "--domain", instance.domain, *words)


def test_a_key_from_its_beginning_to_its_end(keys: Command, runtime: Runtime, instance: Instance) -> None:
    text = keys("add", "--name", "the script").stdout.strip()
    assert re.fullmatch(r"rck_\w+", text)
    assert Keys(runtime.store, instance).permissions(text).allow("POST", CONVERSATIONS)
    (listed,) = json.loads(keys("ls", "--json").stdout)
    assert (listed["name"], listed["scope"]) == ("the script", f"{CONVERSATIONS}:POST {FILES}:GET")
    shown = keys("ls").stdout
    assert shown == f"{listed['id']}  {listed['created_at']}  the script: {listed['scope']}\n"
    assert text not in shown
    assert keys("rm", listed["id"]).returncode == 0
    assert keys("ls").stdout == ""
    with pytest.raises(InvalidToken):
        Keys(runtime.store, instance).permissions(text)


def test_a_key_with_a_scope_of_its_own(keys: Command, runtime: Runtime, instance: Instance) -> None:
    made = json.loads(keys("add", "io.cozy.files:GET", "io.cozy.jobs", "--json").stdout)
    assert made["scope"] == "io.cozy.files:GET io.cozy.jobs"
    rights = Keys(runtime.store, instance).permissions(made["key"])
    assert (rights.allow("GET", FILES), rights.allow("POST", CONVERSATIONS)) == (True, False)


def test_a_failure_is_one_line(keys: Command, ragcore: Command) -> None:
    assert "no key unknown" in one_line(keys("rm", "unknown"))
    assert "nobody.localhost" in one_line(ragcore("keys", "ls", "--domain", "nobody.localhost"))
