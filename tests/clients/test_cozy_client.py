"""The published cozy-client and cozy-realtime, run in Node as the assistant's own interface runs them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ragcore.documents import ACCOUNTS, ASSISTANTS, CONVERSATIONS, FILES, STATUSES
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.files import new_instance

SCRIPT = Path(__file__).with_name("web_page.js")
SCOPE = f"{ASSISTANTS} {CONVERSATIONS} {STATUSES} {ACCOUNTS} {FILES} io.cozy.ai.chat.events io.cozy.jobs"

Json = dict[str, Any]


@pytest.fixture(scope="module")
def owner(runtime: Runtime) -> Instance:
    return new_instance(runtime)


@pytest.fixture(scope="module")
def seen(runtime: Runtime, owner: Instance) -> Json:
    """What the page saw, in one visit."""
    client = Client(runtime.config.public_url(owner.domain), owner, SCOPE)
    command = ["node", str(SCRIPT), client.base_url, client.token]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == 0, ended.stderr
    answer: Json = json.loads(ended.stdout.splitlines()[-1])
    return answer


def test_assistants_are_listed_as_they_were_changed_last(seen: Json) -> None:
    assert seen["before"] == []
    assert seen["assistants"]["listed"] == [["Guide", "Cook", "Home"], ["Chef", "Guide", "Home"], ["Chef", "Home"]]
    assert seen["assistants"]["known"] == ["Chef"]
    assert seen["assistants"]["all"] == ["Chef", "Home"]


def test_a_stale_assistant_is_a_conflict_that_the_client_knows(seen: Json) -> None:
    status, message = seen["assistants"]["conflict"]
    assert status == 409
    assert "Document update conflict" in message


def test_a_file_is_added_and_its_index_status_is_seen(seen: Json) -> None:
    assert seen["told"] == "success"
    assert seen["status"] == ["success", True, True]
    assert seen["files"] == [["boiler.txt", "40", "text/plain"]] * 2
    assert seen["taken"] == 409


def test_a_question_is_followed_and_its_conversation_read(seen: Json) -> None:
    assert (seen["objects"][0], seen["objects"][-2:]) == ("delta", ["sources", "done"])
    assert seen["conversations"] == [1, 2]
    question, answer = seen["messages"]
    assert question == {"role": "user", "content": "How is the boiler reset?"}
    assert answer == {"role": "assistant", "content": seen["text"]}
    assert "red button" in seen["text"]
    assert seen["sources"] == ["boiler.txt"]


def test_an_account_keeps_its_secret(seen: Json, runtime: Runtime, owner: Instance) -> None:
    assert seen["account"]["saved"] == seen["account"]["read"] == {"login": "large"}
    stored = runtime.store.get(owner, ACCOUNTS, seen["account"]["id"])
    assert runtime.vault.open(stored["auth"]["credentials_encrypted"]).password == "sk-very-secret"
