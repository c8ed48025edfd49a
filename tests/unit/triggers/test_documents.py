"""The documents of triggers, and their states."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import Invalid, Unprocessable
from ragcore.permissions import Forbidden
from ragcore.triggers.documents import Trigger, state_of
from ragcore.triggers.requests import new_trigger

FEED = {"doctype": "io.cozy.files"}


def job(n: int, state: str, **fields: Any) -> dict[str, Any]:
    started = {} if state == "queued" else {"started_at": f"s{n}"}
    return {"_id": f"j{n}", "state": state, "queued_at": f"q{n}", **started, **fields}


def success(n: int) -> dict[str, Any]:
    return {"last_success": f"s{n}", "last_successful_job_id": f"j{n}"}


def failure(n: int, error: str) -> dict[str, Any]:
    return {"last_failure": f"s{n}", "last_failed_job_id": f"j{n}", "last_error": error}


def execution(status: str, at: str, n: int) -> dict[str, Any]:
    return {"trigger_id": "t", "status": status, "last_execution": at, "last_executed_job_id": f"j{n}"}


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ([], {"trigger_id": "t", "status": "done"}),
        ([job(1, "queued")], execution("queued", "q1", 1)),
        ([job(1, "done")], execution("done", "s1", 1) | success(1)),
        ([job(2, "running"), job(1, "done")], execution("running", "s2", 2) | success(1)),
        (
            [job(3, "errored", error="c"), job(2, "done"), job(1, "errored", error="a")],
            execution("errored", "s3", 3) | success(2) | failure(3, "c"),
        ),
        ([job(2, "done"), job(1, "errored", error="a")], execution("done", "s2", 2) | success(2) | failure(1, "a")),
        (
            [job(2, "queued"), job(1, "done", manual_execution=True)],
            execution("queued", "q2", 2) | success(1) | {"last_manual_execution": "s1", "last_manual_job_id": "j1"},
        ),
    ],
)
def test_the_state_of_a_trigger_is_what_became_of_its_jobs(jobs: list[Any], expected: dict[str, Any]) -> None:
    assert state_of("t", jobs) == expected


def test_a_trigger_is_read_as_it_was_saved() -> None:
    trigger = Trigger("@event", "io.cozy.files:UPDATED:!=:name", "rag-index", FEED, "1m30s", {"priority": 3})
    doc = trigger.to_document("alice.localhost")
    assert doc["domain"] == "alice.localhost"
    read = Trigger.from_document(doc | {"_rev": "1-a"})
    assert (read.rev, read.delay, read.schedule) == ("1-a", 90, None)
    assert read == Trigger(**{name: getattr(trigger, name) for name in trigger.__dataclass_fields__} | {"rev": "1-a"})


def test_a_schedule_counts_from_when_its_trigger_was_made_and_is_spread_by_its_id() -> None:
    every = Trigger("@every", "1h", "rag-index", FEED, created_at="2026-03-10T09:30:00.000Z")
    read = Trigger.from_document(every.to_document("alice.localhost") | {"_rev": "1-a"})
    assert read.schedule
    assert read.schedule.next_after(datetime(2026, 3, 10, 12, 0, tzinfo=UTC)) == datetime(
        2026, 3, 10, 12, 30, tzinfo=UTC
    )
    assert read.rules == ()
    daily = [Trigger("@daily", "", "rag-index", FEED, id=name).schedule for name in ("a", "a", "b")]
    assert daily[0] == daily[1] != daily[2]


@pytest.mark.parametrize(
    "doc",
    [
        {},
        {"type": 1, "arguments": [], "worker": {}, "options": "x", "debounce": 3, "cozyMetadata": "x"},
        {"type": "@every", "arguments": "1h", "cozyMetadata": {"createdAt": "yesterday"}},
    ],
)
def test_what_another_writer_wrote_is_read_and_its_faults_are_told_at_its_use(doc: dict[str, Any]) -> None:
    trigger = Trigger.from_document({"_id": "t", "_rev": "1-a"} | doc)
    if trigger.type == "@every":
        assert trigger.schedule
    else:
        with pytest.raises(Invalid):
            _ = trigger.schedule


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ({"message": FEED, "worker_arguments": {"a": 1}}, FEED),
        ({"message": None, "worker_arguments": FEED}, FEED),
        ({"worker_arguments": FEED}, FEED),
        ({"message": {}, "worker_arguments": FEED}, {}),
    ],
)
def test_the_former_name_of_the_message(doc: dict[str, Any], expected: Any) -> None:
    assert Trigger.from_document({"_id": "t", "_rev": "1-a"} | doc).message == expected


def test_absent_fields_and_null_are_the_same() -> None:
    needed = {"type": "@every", "arguments": "1h", "worker": "rag-index", "message": FEED}
    more = {"debounce": None, "options": None, "worker_arguments": None, "unknown": 3}
    trigger = new_trigger(needed | more)
    assert (trigger.debounce, trigger.options, trigger.message, trigger.delay) == ("", None, FEED, 0)


any_json = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just({}) | st.just([]) | st.just(FEED)
likely = st.sampled_from(["@event", "@every", "@daily", "@in", "1h", "io.cozy.files", "rag-index", "30s"])


@given(
    st.dictionaries(
        st.sampled_from(["type", "arguments", "worker", "message", "worker_arguments", "debounce", "options"]),
        any_json | likely,
    )
)
def test_any_attributes_are_a_trigger_or_one_of_them_is_named(attributes: dict[str, Any]) -> None:
    try:
        trigger = new_trigger(attributes)
    except Unprocessable as error:
        named = error.pointer.removeprefix("/data/attributes/").split("/")[0]
        assert named in ("type", "arguments", "worker", "message", "worker_arguments", "debounce", "options")  # noqa: PT017
        return
    assert trigger.rules or trigger.schedule


def test_a_reserved_worker_is_no_bad_value() -> None:
    with pytest.raises(Forbidden):
        new_trigger({"type": "@every", "arguments": "1h", "worker": "rag-query", "message": FEED})


MADE = "2027-01-15T08:00:00.000Z"
MADE_AT = 1_800_000_000.0


@pytest.mark.parametrize(
    ("type_", "arguments", "now", "due"),
    [
        ("@every", "1m", MADE_AT, MADE_AT + 60),
        ("@every", "1m", MADE_AT + 60, MADE_AT + 120),
        ("@cron", "30 0 9 * * *", MADE_AT, MADE_AT + 3630),
        ("@in", "1m", MADE_AT, MADE_AT + 60),
        ("@in", "1m", MADE_AT + 3600, MADE_AT + 60),  # it would be gone if it had fired
        ("@at", "2027-01-15T09:00:00Z", MADE_AT + 7200, MADE_AT + 3600),
        ("@event", "io.cozy.files", MADE_AT, None),
        ("@every", "nonsense", MADE_AT, None),
        ("@client", "", MADE_AT, None),
    ],
)
def test_when_a_trigger_is_due_next(type_: str, arguments: str, now: float, due: float | None) -> None:
    assert Trigger(type_, arguments, "rag-index", FEED, created_at=MADE).due_at(now) == due


@pytest.mark.parametrize(
    ("worker", "message"), [("thumbnail", FEED), ("rag-query", FEED), ("rag-index", {"doctype": "io.cozy.notes"})]
)
def test_the_trigger_of_another_writer_is_never_due(worker: str, message: dict[str, Any]) -> None:
    assert Trigger("@every", "1m", worker, message, created_at=MADE).due_at(MADE_AT) is None
