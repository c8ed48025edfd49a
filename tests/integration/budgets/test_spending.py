"""What the answers of a day use, counted over real answers."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ragcore.budgets import Spent, budget, recount
from ragcore.budgets.budgets import Budgets
from ragcore.budgets.counters import Turn
from ragcore.budgets.day import Day
from ragcore.chat.accept import accept_request
from ragcore.chat.answer import answer_question
from ragcore.chat.owed import LOST_AFTER, OwedQuestions
from ragcore.chat.requests import ChatRequest
from ragcore.documents import CONVERSATIONS
from ragcore.grounded.summary import refresh
from ragcore.instances import Instance
from ragcore.jobs import SummaryJob
from ragcore.openrag import Chunk, Usage
from ragcore.questions import Question
from ragcore.runtime import Runtime
from ragcore.store import Document, Store
from ragcore.surfaces import WAYS
from ragcore.units import isoformat
from tests.bench.redis_monitor import monitored
from tests.support.budgets import at_once, empty, member, used, with_plans
from tests.support.chat import Answerer, objects
from tests.support.grounded import used as tokens
from tests.support.sandbox import Sandbox

Json = dict[str, Any]


def ask(answerer: Answerer, sandbox: Sandbox, conversation: str, spent: int = 100) -> list[Json]:
    """The events of a chat's question, whose answer uses so many tokens."""
    sandbox.script({"content": "Red."}, tokens(spent - 1, 1), match=conversation)
    question = answerer.ask(conversation, q=f"Why {conversation}?")
    answerer.run()
    return answerer.events(question)


def test_the_tokens_of_a_chat_are_counted_and_saved(answerer: Answerer, sandbox: Sandbox) -> None:
    assert objects(ask(answerer, sandbox, "c1", 300)) == ["delta", "done"]
    assert used(answerer.runtime, answerer.instance) == 300
    assert sandbox.completions()[-1]["stream_options"] == {"include_usage": True}
    usage = {"prompt_tokens": 299, "completion_tokens": 1, "total_tokens": 300}
    assert answerer.messages("c1")[-1]["usage"] == usage


def test_an_answer_in_one_piece_is_counted_too(answerer: Answerer, sandbox: Sandbox) -> None:
    sandbox.script({"content": "Red."}, tokens(200, 100))
    answerer.ask("c1", q="Why?", stream=False)
    answerer.run()
    assert "stream_options" not in sandbox.completions()[-1]
    assert used(answerer.runtime, answerer.instance) == answerer.messages("c1")[-1]["usage"]["total_tokens"] == 300


def test_an_llm_that_tells_no_figures_is_counted_by_its_characters(answerer: Answerer, sandbox: Sandbox) -> None:
    sandbox.script({"content": "x" * 400})
    answerer.ask("c1", q="Why?")
    answerer.run()
    assert 100 <= used(answerer.runtime, answerer.instance) <= 120


def test_an_answer_that_is_stopped_is_counted(answerer: Answerer, sandbox: Sandbox) -> None:
    sandbox.script({"content": "x" * 400}, {"error": {"message": "broken"}})
    answerer.ask("c1", q="Why?")
    answerer.run()
    assert used(answerer.runtime, answerer.instance) >= 100


def test_a_spent_budget_is_told_as_an_error(answerer: Answerer, sandbox: Sandbox) -> None:
    ask(answerer, sandbox, "c1", 1000)
    sandbox.clear_calls()
    (error,) = ask(answerer, sandbox, "c2")
    assert error == {
        "_id": error["_id"],
        "object": "error",
        "message": "Daily AI budget reached",
        "code": "budget",
        "resetAt": Day.of(time.time()).reset_at,
        "plan": "free",
        "upgradeUrl": None,
    }
    assert sandbox.completions() == []
    assert [message["role"] for message in answerer.messages("c2")] == ["user"]


def test_what_is_left_can_be_used_to_the_end(answerer: Answerer, sandbox: Sandbox) -> None:
    """One answer may go beyond, and it is told whole."""
    ask(answerer, sandbox, "c1", 999)
    assert objects(ask(answerer, sandbox, "c2", 500)) == ["delta", "done"]
    assert objects(ask(answerer, sandbox, "c3", 500)) == ["error"]
    assert used(answerer.runtime, answerer.instance) == 1499


def test_fifty_questions_at_once_overspend_by_one_answer_at_most(answerer: Answerer, sandbox: Sandbox) -> None:
    sandbox.script({"sleep": 0.05}, {"content": "Red."}, tokens(299, 1), times=50)
    questions = [answerer.ask(f"c{n}", q="Why?") for n in range(50)]
    at_once([answerer])
    ends = [answerer.events(question)[-1] for question in questions]
    answered = [end for end in ends if end["object"] == "done"]
    assert len(answered) == 4  # 1200 of 1000
    assert used(answerer.runtime, answerer.instance) == 300 * len(answered)
    assert {end.get("code") for end in ends if end not in answered} == {"budget"}


def test_members_of_an_organisation_share_its_tokens(planned: Runtime, sandbox: Sandbox) -> None:
    org_id = f"org-{time.time_ns()}"
    answerers = [Answerer(planned, member(planned, org_id)) for _ in range(5)]
    sandbox.script({"sleep": 0.05}, {"content": "Red."}, tokens(299, 1), times=50)
    questions = [(answerer, answerer.ask(f"c{n}", q="Why?")) for answerer in answerers for n in range(4)]
    at_once(answerers)
    answered = [question for answerer, question in questions if answerer.events(question)[-1]["object"] == "done"]
    assert len(answered) == 4
    assert {used(planned, answerer.instance) for answerer in answerers} == {1200}
    stranger = Answerer(planned, member(planned, f"{org_id}-other"))
    assert objects(ask(stranger, sandbox, "c1"))[-1] == "done"
    empty(planned)
    assert {used(planned, answerer.instance) for answerer in answerers} == {1200}  # of all members' messages


def test_asks_are_counted_by_instance(planned: Runtime, sandbox: Sandbox) -> None:
    """Once each, also without a passage; an organisation's members have their own."""
    org_id = f"org-{time.time_ns()}"
    one, other = (member(planned, org_id) for _ in range(2))
    for question in ("q1", "q2", "q1", "q3"):
        with planned.budgets.spending(one, question, time.time(), surface="ask").question([]):
            pass
    with pytest.raises(Spent), planned.budgets.spending(one, "q4", time.time(), surface="ask").question([]):
        pass
    assert (used(planned, one, "ask"), used(planned, other, "ask"), used(planned, one)) == (3, 0, 0)
    with planned.budgets.spending(one, "q4", time.time()).question([]):  # a chat is no ask
        pass
    with planned.budgets.spending(other, "q4", time.time(), surface="ask").question([]):
        pass


def test_a_refused_question_is_not_counted(answerer: Answerer, sandbox: Sandbox) -> None:
    ask(answerer, sandbox, "c1", 1000)
    budgets = answerer.runtime.budgets
    with pytest.raises(Spent), budgets.spending(answerer.instance, "q", time.time(), surface="ask").question([]):
        pass
    assert used(answerer.runtime, answerer.instance, "ask") == 0


def test_another_plan_counts_from_what_was_used(answerer: Answerer, sandbox: Sandbox) -> None:
    ask(answerer, sandbox, "c1", 1000)
    pro = Answerer(answerer.runtime, replace(answerer.instance, flags={"ai.plan": "pro"}))
    assert objects(ask(pro, sandbox, "c2", 200))[-1] == "done"
    told = answerer.runtime.budgets.usage(pro.instance)
    assert (told["plan"], told["tokens"]) == ("pro", {"used": 1200, "limit": 10**6})


def test_redis_emptied_is_counted_again(answerer: Answerer, sandbox: Sandbox) -> None:
    runtime, instance = answerer.runtime, answerer.instance
    for n in range(12):  # more than one page of conversations
        ask(answerer, sandbox, f"c{n}", 50)
    ask(answerer, sandbox, "c3", 60)
    before = runtime.budgets.usage(instance)
    assert before["tokens"]["used"] == 660
    empty(runtime)
    assert runtime.budgets.usage(instance) == before
    empty(runtime)
    ask(answerer, sandbox, "c4", 340)  # the worker counts again before it asks the LLM
    assert used(runtime, instance) == 1000
    empty(runtime)
    assert objects(ask(answerer, sandbox, "c5")) == ["error"]


def test_redis_emptied_gives_no_question_more(planned: Runtime, instance: Instance, sandbox: Sandbox) -> None:
    """The first one behind it is counted behind those of the day."""
    answerer = Answerer(planned, instance)
    for n in range(3):
        accept_request(planned, answerer, instance, f"c{n}", ChatRequest(q="Why?", surface="ask"))
    at_once([answerer])
    assert used(planned, instance, "ask") == 3
    for _ in range(2):
        empty(planned)
        with pytest.raises(Spent), planned.budgets.spending(instance, "q", time.time(), surface="ask").question([]):
            pass
    assert used(planned, instance, "ask") == 3


def test_redis_emptied_during_an_answer_counts_it_once(answerer: Answerer, sandbox: Sandbox) -> None:
    runtime, instance = answerer.runtime, answerer.instance
    ask(answerer, sandbox, "c1", 100)
    spending = runtime.budgets.spending(instance, "under-way", time.time())
    with spending.question([]), spending.call({}) as call:
        empty(runtime)
        assert used(runtime, instance) == 100
        call.take(_told(200))
    assert used(runtime, instance) == 300


def test_redis_emptied_while_it_is_counted_again(
    planned: Runtime, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the first of the members."""
    org_id = f"org-{time.time_ns()}"
    answerers = [Answerer(planned, member(planned, org_id)) for _ in range(2)]
    for answerer in answerers:
        ask(answerer, sandbox, "c1", 100)
    read: list[str] = []

    def turns_of(store: Store, instance: Instance, day: Day) -> Iterator[Turn]:
        read.append(instance.domain)
        if len(read) == 2:
            empty(planned)
        yield from recount.turns_of(store, instance, day)

    monkeypatch.setattr(budget, "turns_of", turns_of)
    empty(planned)
    assert used(planned, answerers[0].instance) == 200
    assert len(read) == 4


def test_fifty_questions_while_redis_is_emptied(answerer: Answerer, sandbox: Sandbox) -> None:
    """They are counted again by one process, and the others wait for it."""
    ask(answerer, sandbox, "before", 400)
    sandbox.script({"sleep": 0.05}, {"content": "Red."}, tokens(299, 1), times=50)
    questions = [answerer.ask(f"c{n}", q="Why?") for n in range(50)]
    empty(answerer.runtime)
    at_once([answerer])
    ends = [answerer.events(question)[-1]["object"] for question in questions]
    assert (ends.count("done"), ends.count("error")) == (2, 48)
    assert used(answerer.runtime, answerer.instance) == 1000


def test_what_a_killed_worker_had_reserved_goes_with_its_question(answerer: Answerer) -> None:
    runtime, instance = answerer.runtime, answerer.instance
    question = Question(instance.domain, "c1", answerer.ask("c1", q="Why?"))
    assert runtime.questions.take(question, "k" * 32)
    spending = runtime.budgets.spending(instance, question.id, time.time(), _not_now)
    held = spending.question([])
    held.__enter__()
    with pytest.raises(TimeoutError), runtime.budgets.spending(instance, "q2", time.time(), _not_now).question([]):
        pass
    runtime.redis.delete(question.claim_key)  # as it runs out
    OwedQuestions(runtime, answerer).sweep(time.time() + LOST_AFTER + 1)
    assert answerer.events(question.id)[-1]["code"] == "interrupted"
    with runtime.budgets.spending(instance, "q2", time.time(), _not_now).question([]):
        pass


def test_a_question_that_is_taken_while_the_sweep_looks_keeps_what_it_reserved(answerer: Answerer) -> None:
    runtime, instance = answerer.runtime, answerer.instance
    question = Question(instance.domain, "c1", answerer.ask("c1", q="Why?"))
    assert runtime.questions.take(question, "k" * 32)
    with runtime.budgets.spending(instance, question.id, time.time(), _not_now).question([]):
        assert not OwedQuestions(runtime, answerer)._end(question)
        with pytest.raises(TimeoutError), runtime.budgets.spending(instance, "q2", time.time(), _not_now).question([]):
            pass


def test_a_plan_costs_one_round_trip_before_the_first_word(
    answerer: Answerer, sandbox: Sandbox, runtime: Runtime, until: Callable[..., Any]
) -> None:
    ask(answerer, sandbox, "first", 10)  # of the day: it is looked up whether Redis was emptied
    assert budget_commands(answerer, sandbox, until) == [1, 1]
    unlimited = Answerer(with_plans(runtime), answerer.instance)
    assert budget_commands(unlimited, sandbox, until) == [0, 0]


def test_a_turn_over_midnight_is_of_the_day_on_which_it_was_asked(answerer: Answerer, sandbox: Sandbox) -> None:
    runtime, instance = answerer.runtime, answerer.instance
    today = Day.of(time.time())
    sandbox.script({"content": "Red."}, tokens(599, 1))
    answerer.ask("c1", q="Why?")
    (job,) = answerer.jobs
    asked_at(answerer, "c1", today.begins - 1)
    answer_question(runtime, answerer, replace(job, asked_at=today.begins - 1), WAYS)
    assert used(runtime, instance) == 0
    yesterday = replace(runtime.budgets, clock=lambda: today.begins - 1)
    assert used_by(yesterday, instance) == 600


def test_a_clock_that_is_set_back_finds_what_was_used(planned: Runtime, instance: Instance) -> None:
    """Over midnight and back: neither day begins anew."""
    midnight = Day.of(time.time()).begins
    budgets = planned.budgets
    for question, at, n in (("q1", -60, 100), ("q2", 60, 200), ("q3", -60, 300), ("q4", 60, 400)):
        spending = replace(budgets, clock=lambda at=at: midnight + at).spending(instance, question, midnight + at)
        with spending.question([]), spending.call({}) as call:
            call.take(_told(n))
    assert used_by(replace(budgets, clock=lambda: midnight - 1), instance) == 400
    assert used_by(replace(budgets, clock=lambda: midnight + 1), instance) == 600


def test_summaries_are_counted_too(answerer: Answerer, sandbox: Sandbox) -> None:
    for n in range(8):
        sandbox.script({"content": "Red."}, tokens(9, 1), match=f"number {n}")
        answerer.ask("long", q=f"Why number {n}?")
        answerer.run()
    instance = answerer.instance
    assert used(answerer.runtime, instance) == 80
    sandbox.script({"content": "About red."}, tokens(400, 20))
    job = SummaryJob(instance.domain, instance.prefix, "long")
    refresh(answerer.runtime, answerer, job)
    assert used(answerer.runtime, instance) == 500
    ask(answerer, sandbox, "c2", 500)
    sandbox.clear_calls()
    refresh(answerer.runtime, answerer, job)
    assert sandbox.completions() == []


def test_a_call_for_which_there_is_room_later_waits(answerer: Answerer, sandbox: Sandbox) -> None:
    """Nobody is told that the budget is spent while calls under way may use less than they have reserved."""
    sandbox.script({"sleep": 0.4}, {"content": "Red."}, tokens(9, 1), times=3)
    questions = [answerer.ask(f"c{n}", q="Why?") for n in range(3)]
    at_once([answerer])
    assert [answerer.events(question)[-1]["object"] for question in questions] == ["done"] * 3
    assert used(answerer.runtime, answerer.instance) == 30


def test_without_a_plan_what_was_used_is_read_from_the_messages(
    runtime: Runtime, instance: Instance, sandbox: Sandbox
) -> None:
    unlimited = Answerer(with_plans(runtime), instance)
    ask(unlimited, sandbox, "c1", 300)
    none = {"used": 0, "limit": None}
    told = unlimited.runtime.budgets.usage(instance)
    assert told == {"plan": None, "tokens": {"used": 300, "limit": None}, "ask": none, "agent": none,
                    "resetAt": Day.of(time.time()).reset_at}  # fmt: skip
    assert list(runtime.redis.scan_iter(f"ragcore:budget:{{{instance.domain}}}:*")) == []


def asked_at(answerer: Answerer, conversation: str, at: float) -> None:
    """As if its question had been asked then."""
    created = isoformat(datetime.fromtimestamp(at, UTC))

    def older(doc: Document) -> Document:
        return {**doc, "messages": [message | {"createdAt": created} for message in doc["messages"]]}

    answerer.runtime.store.update(answerer.instance, CONVERSATIONS, conversation, older)


def budget_commands(answerer: Answerer, sandbox: Sandbox, until: Callable[..., Any]) -> list[int]:
    """Those that a question costs before its first word, and behind it."""
    hold = f"hold{time.time_ns()}"
    sandbox.script({"content": "Red"}, {"hold": hold}, tokens(9, 1), match=hold)
    url = answerer.runtime.config.redis.url
    question = answerer.ask("c1", q=f"Why {hold}?")
    answering = threading.Thread(target=answerer.run)
    counts = []
    for go_on in (answering.start, lambda: sandbox.release(hold)):
        with monitored(url) as commands:
            go_on()
            until(lambda: objects(answerer.events(question))[-1:] == [["delta"], ["done"]][len(counts)])
        key = f"ragcore:budget:{{{answerer.instance.domain}}}"
        counts.append(len([command for command in commands if command.key.startswith(key) and not command.in_script]))
    answering.join()
    return counts


def used_by(budgets: Budgets, instance: Instance) -> int:
    n: int = budgets.usage(instance)["tokens"]["used"]
    return n


def _told(n: int) -> Chunk:
    return Chunk(done=True, usage=Usage(n, 0, n))


def _not_now() -> None:
    raise TimeoutError
