"""The routes of triggers."""

import shlex
import subprocess
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from ragcore import loopback
from ragcore.instances import Instance
from ragcore.jobs import FeedJob
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from ragcore.triggers.documents import SHOWN, Trigger, Triggers
from ragcore.triggers.launching import launch
from ragcore.work import Work
from tests.support.api import Client
from tests.support.files import Drive
from tests.support.queue import Recorded

FEED = {"doctype": "io.cozy.files"}
# the seed, docs/ai.md: the call, and the two bodies
CURL = (
    """curl "http://${COZY}/jobs/triggers" -H "Authorization: Bearer $TOKEN" -d '{ "data": { "attributes": { "type": """
    """"@event", "arguments": "io.cozy.files", "debounce": "30s", "worker": "rag-index", "message": """
    """{"doctype": "io.cozy.files"} } } }'"""
)
SECOND_BODY = """{ "data": { "attributes": {
  "type": "@event", "arguments": "io.cozy.ai.chat.assistants",
  "worker": "rag-index", "message": { "doctype": "io.cozy.files" } } } }"""

Api = Callable[..., Client]


@pytest.fixture
def api(runtime: Runtime, instance: Instance) -> Api:
    return lambda scope="io.cozy.triggers": Client(runtime.config.public_url(instance.domain), instance, scope)


@pytest.fixture
def triggers(runtime: Runtime, instance: Instance) -> Triggers:
    return Triggers(runtime.store, instance)


@pytest.fixture
def trigger(triggers: Triggers) -> Trigger:
    return triggers.create(Trigger("@event", "io.cozy.files", "rag-index", FEED, "30s"))


def body(**attributes: Any) -> dict[str, Any]:
    given = {"type": "@event", "arguments": "io.cozy.files", "worker": "rag-index", "message": FEED} | attributes
    return {"data": {"attributes": {name: value for name, value in given.items() if value is not ...}}}


def test_the_call_of_the_seed_as_it_is_typed(runtime: Runtime, instance: Instance, triggers: Triggers) -> None:
    cozy = runtime.config.public_url(instance.domain).removeprefix("http://")
    environment = {"COZY": cozy, "TOKEN": create_token(instance, "cli", "CLI", "io.cozy.triggers")}
    for call in (CURL, f"{CURL[: CURL.index(' -d ')]} -d {shlex.quote(SECOND_BODY)}"):
        quiet = call.replace("curl", "curl --silent --fail", 1)
        subprocess.run(["bash", "-c", quiet], env=environment, check=True, timeout=30, capture_output=True)
    first, second = triggers.all()
    assert (first.arguments, first.delay, first.worker, first.message) == ("io.cozy.files", 30, "rag-index", FEED)
    assert (second.arguments, second.delay, second.message) == ("io.cozy.ai.chat.assistants", 0, FEED)
    assert second.rules[0].matches("CREATED", "io.cozy.ai.chat.assistants", {})


def test_a_trigger_from_its_beginning_to_its_end(api: Api, instance: Instance) -> None:
    created = api().request("POST", "/jobs/triggers", json=body(debounce="1m30s", options={"priority": 3}))
    assert created.status_code == 201
    assert created.headers["Content-Type"] == "application/vnd.api+json"
    data = created.json()["data"]
    path = f"/jobs/triggers/{data['id']}"
    assert (data["type"], data["links"]["self"]) == ("io.cozy.triggers", path)
    metadata = data["attributes"].pop("cozyMetadata")
    assert datetime.fromisoformat(metadata["createdAt"]).tzinfo
    state = {"trigger_id": data["id"], "status": "done"}
    assert data["attributes"] == {
        "domain": instance.domain,
        "type": "@event",
        "arguments": "io.cozy.files",
        "debounce": "1m30s",
        "worker": "rag-index",
        "message": FEED,
        "options": {"priority": 3},
        "current_state": state,
    }
    shown = api().request("GET", path)
    assert shown.status_code == 200
    assert shown.json()["data"]["attributes"] == data["attributes"] | {"cozyMetadata": metadata}
    assert [each["id"] for each in api().request("GET", "/jobs/triggers").json()["data"]] == [data["id"]]
    told = api().request("GET", f"{path}/state").json()["data"]
    assert told == {
        "type": "io.cozy.triggers.state",
        "id": data["id"],
        "attributes": state,
        "links": {"self": f"{path}/state"},
    }
    deleted = api().request("DELETE", path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    for method, route in [("GET", path), ("DELETE", path), ("POST", f"{path}/launch"), ("GET", f"{path}/jobs")]:
        assert api().request(method, route).status_code == 404
    assert api().request("GET", "/jobs/triggers").json()["data"] == []


def test_a_launched_trigger_shows_its_job(api: Api, trigger: Trigger, until: Callable) -> None:
    path = f"/jobs/triggers/{trigger.id}"
    launched = api().request("POST", f"{path}/launch")
    assert launched.status_code == 201
    job = launched.json()["data"]
    assert job["type"] == "io.cozy.jobs"
    assert job["attributes"]["trigger_id"] == trigger.id
    assert job["attributes"]["manual_execution"] is True
    assert job["attributes"]["arguments"] == FEED

    def state() -> dict[str, Any]:
        shown: dict[str, Any] = api().request("GET", f"{path}/state").json()["data"]["attributes"]
        return shown

    until(lambda: "last_success" in state())
    told = state()
    assert told.pop("last_success") == told.pop("last_execution") == told.pop("last_manual_execution")
    assert told == {
        "trigger_id": trigger.id,
        "status": "done",
        "last_successful_job_id": job["id"],
        "last_executed_job_id": job["id"],
        "last_manual_job_id": job["id"],
    }
    assert api().request("GET", path).json()["data"]["attributes"]["current_state"] == state()
    assert [each["id"] for each in api().request("GET", f"{path}/jobs").json()["data"]] == [job["id"]]


def test_a_trigger_may_walk_a_folder(api: Api, runtime: Runtime, instance: Instance) -> None:
    message = FEED | {"reconcile_dir_id": Drive(runtime, instance).folder("/Papers").id}
    sent = body(type="@daily", arguments="between 2am and 5am", message=message)
    trigger_id = api().request("POST", "/jobs/triggers", json=sent).json()["data"]["id"]
    job = api().request("POST", f"/jobs/triggers/{trigger_id}/launch").json()["data"]["attributes"]
    assert (job["arguments"], job["trigger_id"]) == (message, trigger_id)


def test_the_jobs_of_a_trigger_come_newest_first_and_no_others(
    api: Api, runtime: Runtime, instance: Instance, trigger: Trigger
) -> None:
    def job(n: int, trigger_id: str) -> dict[str, Any]:
        at = f"2026-03-01T00:00:{n:02}.000Z"
        return {"_id": f"{trigger_id[:3]}-{n:02}", "trigger_id": trigger_id, "queued_at": at, "state": "done"}

    jobs = [job(n, trigger_id) for n in (3, 1, 2) for trigger_id in (trigger.id, "other")]
    runtime.store.save_all(instance, "io.cozy.jobs", jobs)
    path = f"/jobs/triggers/{trigger.id}/jobs"

    def ids(**params: str) -> list[str]:
        return [each["id"][-2:] for each in api().request("GET", path, params=params).json()["data"]]

    assert ids() == ["03", "02", "01"]
    assert ids(Limit="2") == ["03", "02"]
    assert ids(Limit=str(SHOWN + 1)) == ["03", "02", "01"]
    assert api().request("GET", path, params={"Limit": "two"}).status_code == 400
    shown = api().request("GET", f"/jobs/triggers/{trigger.id}/state").json()["data"]["attributes"]
    assert shown["last_success"] == "2026-03-01T00:00:03.000Z"


@pytest.mark.parametrize(
    ("sent", "pointer"),
    [
        ({"type": "@webhook"}, "type"),
        ({"type": ...}, "type"),
        ({"type": 3}, "type"),
        ({"arguments": ...}, "arguments"),
        ({"arguments": None}, "arguments"),
        ({"arguments": ["io.cozy.files"]}, "arguments"),
        ({"arguments": "io.cozy.files:POST"}, "arguments"),
        ({"type": "@cron", "arguments": "0 0 * * *"}, "arguments"),
        ({"type": "@every", "arguments": "often"}, "arguments"),
        ({"type": "@weekly", "arguments": "on the 1"}, "arguments"),
        ({"type": "@at", "arguments": "tomorrow"}, "arguments"),
        ({"type": "@in", "arguments": "1 hour"}, "arguments"),
        ({"worker": "sendmail"}, "worker"),
        ({"worker": ...}, "worker"),
        ({"worker": {}}, "worker"),
        ({"debounce": "30"}, "debounce"),
        ({"debounce": 30}, "debounce"),
        ({"debounce": f"{'9' * 400}h"}, "debounce"),
        ({"message": ...}, "message"),
        ({"message": "io.cozy.files"}, "message"),
        ({"message": {"doctype": "io.cozy.mails"}}, "message/doctype"),
        ({"message": FEED | {"reconcile_dir_id": 3}}, "message/reconcile_dir_id"),
        ({"message": ..., "worker_arguments": {"doctype": "x"}}, "worker_arguments/doctype"),
        ({"options": "fast"}, "options"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(api: Api, triggers: Triggers, sent: dict[str, Any], pointer: str) -> None:
    response = api().request("POST", "/jobs/triggers", json=body(**sent))
    assert response.status_code == 422
    (error,) = response.json()["errors"]
    assert error["source"]["pointer"] == f"/data/attributes/{pointer}"
    assert error["status"] == "422"
    assert triggers.all() == []


@pytest.mark.parametrize("sent", ["[]", "3", '{"data": {}}', '{"data": {"attributes": []}}', '{"data": "x"}'])
def test_what_holds_no_attributes(api: Api, sent: str) -> None:
    response = api().request("POST", "/jobs/triggers", data=sent)
    assert response.status_code == 422
    assert response.json()["errors"][0]["source"]["pointer"] == "/data/attributes"


def test_what_is_no_json(api: Api) -> None:
    assert api().request("POST", "/jobs/triggers", data="{").status_code == 400


def test_the_former_name_of_the_message_is_read(api: Api) -> None:
    sent = body(message=..., worker_arguments=FEED)
    assert api().request("POST", "/jobs/triggers", json=sent).json()["data"]["attributes"]["message"] == FEED
    sent = body(message=FEED, worker_arguments={"doctype": "other"})
    assert api().request("POST", "/jobs/triggers", json=sent).json()["data"]["attributes"]["message"] == FEED


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        ("io.cozy.triggers", 201),
        ("io.cozy.triggers:POST", 201),
        ("io.cozy.triggers:POST:rag-index:worker", 201),
        ("io.cozy.triggers:POST:sendmail:worker", 403),
        ("io.cozy.triggers:POST:rag-index", 403),
        ("io.cozy.triggers:GET,DELETE", 403),
        ("io.cozy.jobs", 403),
    ],
)
def test_who_may_create(api: Api, scope: str, status: int) -> None:
    assert api(scope).request("POST", "/jobs/triggers", json=body()).status_code == status


def test_no_client_may_have_answers_made(api: Api) -> None:
    for scope in ("io.cozy.triggers", "io.cozy.triggers:POST:rag-query:worker"):
        assert api(scope).request("POST", "/jobs/triggers", json=body(worker="rag-query")).status_code == 403


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        ("GET", {"GET", "GET /state", "GET /jobs"}),
        ("POST", {"POST /launch"}),
        ("DELETE", {"DELETE"}),
        ("GET:{id}", {"GET", "GET /state", "GET /jobs"}),
        ("GET,POST:rag-index:worker", {"GET", "GET /state", "GET /jobs", "POST /launch"}),
        ("ALL:another", set()),
        ("ALL:sendmail:worker", set()),
    ],
)
def test_who_may_do_what_with_a_trigger(api: Api, trigger: Trigger, rule: str, allowed: set[str]) -> None:
    client = api(f"io.cozy.triggers:{rule.format(id=trigger.id)}")
    answers = {}
    for action in ("GET", "GET /state", "GET /jobs", "POST /launch", "DELETE"):
        method, _, below = action.partition(" ")
        answers[action] = client.request(method, f"/jobs/triggers/{trigger.id}{below}").status_code
    assert {action for action, status in answers.items() if status < 300} == allowed
    assert {status for action, status in answers.items() if action not in allowed} <= {403}


@pytest.mark.parametrize("name", ["_all_docs", "_changes", "_design", "_local"])
def test_a_route_of_the_database_is_no_trigger_and_no_job(api: Api, trigger: Trigger, name: str) -> None:
    client = api("io.cozy.triggers io.cozy.jobs")
    client.request("POST", f"/jobs/triggers/{trigger.id}/launch")
    for path in (f"/jobs/triggers/{name}", f"/jobs/triggers/{name}/state", f"/jobs/{name}"):
        assert client.request("GET", path).status_code == 404


def test_who_may_list(api: Api, triggers: Triggers, trigger: Trigger) -> None:
    mails = triggers.create(Trigger("@every", "1h", "sendmail", {"to": "me"}))

    def listed(scope: str, query: str = "") -> list[str] | int:
        response = api(scope).request("GET", f"/jobs/triggers{query}")
        return [each["id"] for each in response.json()["data"]] if response.ok else response.status_code

    assert listed("io.cozy.triggers:GET") == [trigger.id, mails.id]
    assert listed("io.cozy.triggers:GET", "?Worker=sendmail") == [mails.id]
    assert listed("io.cozy.triggers:GET", "?Type=@event") == [trigger.id]
    assert listed("io.cozy.triggers:GET:rag-index:worker", "?Worker=rag-index") == [trigger.id]
    assert listed("io.cozy.triggers:GET:rag-index:worker", "?Worker=sendmail") == 403
    assert listed("io.cozy.triggers:GET:rag-index:worker") == 403
    assert listed("io.cozy.triggers:POST") == 403


def test_without_a_token_there_is_nothing(runtime: Runtime, instance: Instance, trigger: Trigger) -> None:
    url = f"{runtime.config.public_url(instance.domain)}/jobs/triggers"
    for method, path in [("POST", ""), ("GET", ""), ("GET", f"/{trigger.id}"), ("GET", "/unknown")]:
        assert loopback.session().request(method, url + path, timeout=10).status_code == 401


def test_triggers_of_other_writers_are_shown_and_not_launched(
    api: Api, runtime: Runtime, instance: Instance, triggers: Triggers
) -> None:
    foreign = {"_id": "f1", "type": "@webhook", "worker": "konnector", "worker_arguments": {"slug": "x"}, "options": []}
    odd = {"_id": "f2", "type": "@event", "worker": "rag-index", "arguments": 3, "message": {"doctype": "other"}}
    runtime.store.save_all(instance, "io.cozy.triggers", [foreign, odd])
    first, second = api().request("GET", "/jobs/triggers").json()["data"]
    assert first["attributes"]["message"] == {"slug": "x"}
    assert second["attributes"]["arguments"] == ""
    assert api().request("POST", "/jobs/triggers/f1/launch").status_code == 404
    assert api().request("POST", "/jobs/triggers/f2/launch").status_code == 400
    assert runtime.store.find(instance, "io.cozy.jobs", {}) == []


def test_a_job_that_waits_serves_for_a_trigger_too(
    runtime: Runtime, instance: Instance, triggers: Triggers, trigger: Trigger
) -> None:
    queue = Recorded()
    work = Work(runtime, queue)
    waiting = work.feed(instance.domain)
    assert launch(work, instance, trigger) == waiting
    assert [job["_id"] for job in triggers.jobs(trigger.id)] == [waiting]
    assert "manual_execution" not in triggers.jobs(trigger.id)[0]
    launch(work, instance, trigger, manual=True)
    assert triggers.jobs(trigger.id)[0]["manual_execution"] is True
    other = triggers.create(Trigger("@event", "io.cozy.files", "rag-index", FEED))
    assert launch(work, instance, other) == waiting
    assert triggers.jobs(other.id) == []
    assert len(queue.jobs) == 1
    work.take_back(FeedJob(instance.domain))
