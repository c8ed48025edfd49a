"""Whose turn it is to answer a question: every script, over a real Redis, and whatever races with whatever."""

import json
import math
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis

from ragcore import questions as module
from ragcore.claims import Claim, Claims, Interrupted, Lost
from ragcore.documents import CONVERSATIONS
from ragcore.errors import Retryable
from ragcore.events import CHAT_EVENTS, Event, History, Publisher
from ragcore.events.history import channel
from ragcore.jobs import AnswerJob
from ragcore.questions import CLAIMED, HANDED_OVER_WITHIN, OLDEST, By, Ending, Question, Questions
from ragcore.runtime import Runtime

DONE = {"object": "done"}
ERROR = {"object": "error"}


@pytest.fixture(scope="module")
def redis(runtime: Runtime) -> Redis:
    return Runtime(runtime.config).redis


class Asked(Questions):
    """Each question with a revision of its conversation."""

    def ask(self, job: AnswerJob, event: Event | None = None) -> bool:
        written = {"_id": job.conversation_id, "_rev": f"2-{uuid.uuid4().hex}"}
        return super().ask(job, event or Event.of_write(CONVERSATIONS, written))


@pytest.fixture(scope="module")
def questions(redis: Redis) -> Asked:
    return Asked(redis)


@pytest.fixture(scope="module")
def publisher(redis: Redis) -> Publisher:
    return Publisher(redis)


@pytest.fixture
def claims(redis: Redis) -> Claims:
    return Claims(redis)


@pytest.fixture
def domain() -> str:
    return f"q{uuid.uuid4().hex}.localhost"


def new_job(domain: str, conversation_id: str = "c", question_id: str = "") -> AnswerJob:
    return AnswerJob(domain, "prefix", conversation_id, question_id or uuid.uuid4().hex, instructions="é\n\\n")


@pytest.fixture
def job(domain: str) -> AnswerJob:
    return new_job(domain)


@pytest.fixture
def question(job: AnswerJob) -> Question:
    return Question.of(job)


def docs(redis: Redis, question: Question) -> list[dict[str, Any]]:
    """What the history has of a question."""
    events = History(redis).of_question(question.domain, question.id)
    return [json.loads(event.text)["payload"]["doc"] for event in events]


def terminals(redis: Redis, question: Question) -> list[str]:
    return [doc["object"] for doc in docs(redis, question) if doc["object"] in ("done", "error")]


def state_of(questions: Asked, question: Question) -> tuple[bool, bool, bool]:
    (state,) = questions.states([question])
    return state.marked, state.claimed, state.ended


def held(redis: Redis, questions: Asked, question: Question) -> Claim:
    """A claim that nobody renews."""
    claim = Claim(questions, redis, question)
    assert questions.take(question, claim.fence.owner)
    return claim


# One question


def taken(questions: Asked, claims: Claims, job: AnswerJob) -> Claim:
    """The claim of a question that was just asked."""
    questions.ask(job)
    claim = claims.take(Question.of(job))
    assert claim is not None
    return claim


def test_a_question_is_marked_then_claimed_then_ended(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question
) -> None:
    assert questions.ask(job)
    assert state_of(questions, question) == (True, False, False)
    claim = held(redis, questions, question)
    assert state_of(questions, question) == (False, True, False)
    assert claim.end(DONE) == Ending(done=True)
    assert state_of(questions, question) == (False, False, True)
    assert docs(redis, question) == [{"_id": question.id, **DONE}]


def test_a_message_that_comes_a_second_time_is_nobodys(
    redis: Redis, questions: Asked, claims: Claims, job: AnswerJob, question: Question
) -> None:
    claim = taken(questions, claims, job)
    assert claims.take(question) is None
    claim.begin_saving()  # it is still the first one's
    claim.end(DONE)
    assert claims.take(question) is None
    assert terminals(redis, question) == ["done"]


def test_a_message_that_comes_again_with_its_mark_leaves_the_claim_alone(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question
) -> None:
    """Redis was started again from a copy that is a second old."""
    questions.ask(job)
    claim = held(redis, questions, question)
    redis.set(question.mark_key, "1", px=1000)
    assert not questions.take(question, uuid.uuid4().hex)
    assert renewed(redis, claim)
    assert claim.end(DONE).done


def test_a_message_of_a_question_that_nobody_asked_is_nobodys(questions: Asked, question: Question) -> None:
    assert not questions.take(question, uuid.uuid4().hex)


def test_an_end_that_is_repeated_is_published_once(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question
) -> None:
    """Its answer was lost: who ended the question is told so again, and nobody else is."""
    questions.ask(job)
    claim = held(redis, questions, question)
    assert [claim.end(DONE).done for _ in range(3)] == [True, True, True]
    for by in ("cancel", "sweep", "owner"):
        assert not questions.end(question, ERROR, by).done
    assert terminals(redis, question) == ["done"]


def test_a_mark_tells_for_how_long_the_message_has_been_on_its_way(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question
) -> None:
    assert questions.states([question])[0].marked_for == 0
    questions.ask(job)
    assert questions.states([question])[0].marked_for < 5
    redis.pexpire(question.mark_key, int((OLDEST - 60) * 1000))
    assert questions.states([question])[0].marked_for == pytest.approx(60, abs=1)


def test_ages_of_many_questions(redis: Redis, questions: Asked, domain: str) -> None:
    marked, claimed, neither = (new_job(domain, str(number)) for number in range(3))
    questions.ask(marked)
    redis.pexpire(Question.of(marked).mark_key, int((OLDEST - 60) * 1000))
    questions.ask(claimed)
    held(redis, questions, Question.of(claimed))
    ages = questions.ages([(domain, job.question_id) for job in (marked, claimed, neither)])
    assert ages == [pytest.approx(60, abs=1), 0, math.inf]


def test_a_question_whose_message_never_reached_the_queue_is_owed_by_nobody(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question, until: Callable
) -> None:
    questions.ask(job)
    redis.pexpire(question.mark_key, 20)
    until(lambda: questions.states([question])[0].is_owed_by_nobody)
    assert not questions.take(question, uuid.uuid4().hex)


def test_who_only_tries_to_take_a_question_claims_nothing(
    redis: Redis, questions: Asked, claims: Claims, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its renewals begin when it has it."""
    take = Questions.take
    renewals: list[int] = []

    def slow(asked: Questions, question: Question, owner: str) -> bool:
        deadline = time.monotonic() + 0.2
        while time.monotonic() < deadline:
            renewals.append(redis.exists(question.claim_key))
        return take(asked, question, owner)

    monkeypatch.setattr(Questions, "take", slow)
    assert claims.take(question) is None
    assert set(renewals) == {0}


def test_the_state_of_no_question_is_none(questions: Asked) -> None:
    assert questions.states([]) == []


# The line of a conversation


def test_the_questions_of_a_conversation_are_handed_over_one_by_one_in_their_order(
    redis: Redis, questions: Asked, domain: str
) -> None:
    jobs = [new_job(domain) for _ in range(4)]
    assert [questions.ask(job) for job in jobs] == [True, False, False, False]
    states = questions.states([Question.of(job) for job in jobs])
    first = jobs[0].question_id
    assert [(state.marked, state.ahead) for state in states] == [(True, "")] + [(False, first)] * 3
    for job, following in zip(jobs, [*jobs[1:], None], strict=True):
        ending = held(redis, questions, Question.of(job)).end(DONE)
        assert ending == Ending(True, following)
    assert questions.ask(new_job(domain))


def test_one_that_waits_in_line_cannot_be_taken(questions: Asked, domain: str) -> None:
    first, second = new_job(domain), new_job(domain)
    questions.ask(first)
    questions.ask(second)
    assert not questions.take(Question.of(second), uuid.uuid4().hex)


def test_conversations_do_not_wait_for_each_other(questions: Asked, domain: str) -> None:
    assert questions.ask(new_job(domain, "one"))
    assert questions.ask(new_job(domain, "two"))
    assert questions.ask(new_job(f"other-{domain}", "one"))


@pytest.mark.parametrize("by", ["cancel", "sweep"])
def test_whoever_ends_the_first_hands_over_the_next(redis: Redis, questions: Asked, domain: str, by: By) -> None:
    first, second = new_job(domain), new_job(domain)
    questions.ask(first)
    questions.ask(second)
    if by == "sweep":
        questions.unmark(Question.of(first))
    assert questions.end(Question.of(first), DONE, by) == Ending(True, second)
    assert state_of(questions, Question.of(second)) == (True, False, False)


def test_one_that_is_ended_in_the_line_leaves_it(redis: Redis, questions: Asked, domain: str) -> None:
    first, second, third = (new_job(domain) for _ in range(3))
    for job in (first, second, third):
        questions.ask(job)
    assert questions.end(Question.of(second), DONE, "cancel") == Ending(True)
    assert state_of(questions, Question.of(second)) == (False, False, True)
    assert held(redis, questions, Question.of(first)).end(DONE).following == third


def test_who_did_not_end_it_hands_over_nothing(redis: Redis, questions: Asked, domain: str) -> None:
    first, second = new_job(domain), new_job(domain)
    questions.ask(first)
    questions.ask(second)
    claim = held(redis, questions, Question.of(first))
    assert questions.end(Question.of(first), DONE, "cancel").following == second
    assert claim.end(DONE) == Ending(done=False)
    assert claim.end(DONE) == Ending(done=False)


def test_who_did_not_hear_of_its_end_hands_over_the_next_all_the_same(
    redis: Redis, questions: Asked, domain: str
) -> None:
    """Until somebody has taken it."""
    first, second = new_job(domain), new_job(domain)
    questions.ask(first)
    questions.ask(second)
    claim = held(redis, questions, Question.of(first))
    assert [claim.end(DONE) for _ in range(2)] == [Ending(True, second)] * 2
    held(redis, questions, Question.of(second))
    assert claim.end(DONE) == Ending(True)
    assert state_of(questions, Question.of(second)) == (False, True, False)


def test_an_end_whose_answer_was_lost_is_asked_for_once_more(
    redis: Redis, questions: Asked, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = new_job(domain), new_job(domain)
    questions.ask(first)
    questions.ask(second)
    claim, end, lost = held(redis, questions, Question.of(first)), questions.end, iter([True, False])

    def lose(*args: Any) -> Ending:
        ending = end(*args)
        if next(lost):
            raise Retryable("Redis does not answer")
        return ending

    monkeypatch.setattr(questions, "end", lose)
    assert claim.end(DONE) == Ending(True, second)
    assert terminals(redis, Question.of(first)) == ["done"]


def test_the_next_is_marked_for_as_long_as_its_handing_over_takes_and_then_for_long(
    redis: Redis, questions: Asked, domain: str
) -> None:
    """Whoever is killed in between leaves a question that the sweep finds, however full the queue is."""
    first, second, third = (new_job(domain) for _ in range(3))
    for job in (first, second, third):
        questions.ask(job)
    held(redis, questions, Question.of(first)).end(DONE)
    assert 0 < redis.pttl(Question.of(second).mark_key) <= HANDED_OVER_WITHIN * 1000
    assert questions.ages([(domain, second.question_id)]) == [0]
    questions.mark_again(Question.of(second))
    assert redis.pttl(Question.of(second).mark_key) > HANDED_OVER_WITHIN * 1000
    questions.take_back(Question.of(second))
    assert 0 < redis.pttl(Question.of(third).mark_key) <= HANDED_OVER_WITHIN * 1000


def test_an_id_that_begins_like_another_is_another(redis: Redis, questions: Asked, domain: str) -> None:
    first, second = new_job(domain, question_id="ab"), new_job(domain, question_id="a")
    questions.ask(first)
    questions.ask(second)
    questions.end(Question.of(second), DONE, "cancel")
    assert redis.llen(Question.of(first).line_key) == 1


def test_a_full_line_is_told(questions: Asked, domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 3)
    for _ in range(3):
        questions.ask(new_job(domain))
    with pytest.raises(Retryable, match="too many"):
        questions.ask(new_job(domain))
    assert questions.ask(new_job(domain, "another"))


def test_the_write_of_the_conversation_is_announced_once_and_before_all_that_comes_of_it(
    redis: Redis, questions: Asked, publisher: Publisher, job: AnswerJob, question: Question
) -> None:
    written = {"_id": job.conversation_id, "_rev": "1-a"}
    event = Event.of_write(CONVERSATIONS, written)
    with redis.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe(channel(question.domain))
        pubsub.get_message(timeout=1)
        assert questions.ask(job, event)
        publisher.publish(question.domain, event)  # so does the watcher
        publisher.flush()
        assert questions.end(question, DONE, "cancel").done
        told = list(published(pubsub))
    assert [doc.get("_rev", doc.get("object")) for doc in told] == ["1-a", "done"]


def test_a_question_that_is_taken_back_gives_way_to_the_next(questions: Asked, domain: str) -> None:
    first, second = new_job(domain), new_job(domain)
    questions.ask(first)
    questions.ask(second)
    assert questions.take_back(Question.of(first)) == Ending(True, second)
    assert questions.states([Question.of(second)])[0].marked


@pytest.mark.parametrize("state", ["claimed", "ended"])
def test_a_question_that_a_worker_has_is_not_taken_back(
    redis: Redis, questions: Asked, domain: str, state: str
) -> None:
    first, second = new_job(domain), new_job(domain)
    questions.ask(first)
    questions.ask(second)
    claim = held(redis, questions, Question.of(first))
    if state == "ended":
        claim.end(DONE)
    assert questions.take_back(Question.of(first)) == Ending(False)
    assert claim.end(DONE).done
    assert questions.take_back(Question.of(second)).done


def test_a_question_that_is_taken_back_was_never_asked(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question
) -> None:
    questions.ask(job)
    questions.take_back(question)
    assert redis.keys(f"*{question.id}*") == redis.keys(question.line_key) == []
    assert questions.ask(new_job(question.domain))


# Cancel, claim, save, sweep


def test_a_cancelled_question_cannot_be_taken(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question
) -> None:
    questions.ask(job)
    assert questions.end(question, DONE, "cancel").done
    assert state_of(questions, question) == (False, False, True)
    assert not questions.take(question, uuid.uuid4().hex)
    redis.set(question.mark_key, "1", px=1000)  # whatever marks it again
    assert not questions.take(question, uuid.uuid4().hex)
    assert terminals(redis, question) == ["done"]


def test_a_question_that_is_cancelled_before_it_stands_in_line_holds_nobody_up(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question
) -> None:
    """It is in its conversation already."""
    assert questions.end(question, DONE, "cancel").done
    assert not questions.ask(job)
    assert state_of(questions, question) == (False, False, True)
    following = new_job(question.domain)
    assert questions.ask(following)
    assert held(redis, questions, Question.of(following)).end(DONE).done
    assert terminals(redis, question) == ["done"]


@pytest.mark.parametrize("by", ["cancel", "sweep"])
def test_a_worker_whose_question_was_ended_saves_and_ends_nothing(
    redis: Redis, questions: Asked, claims: Claims, job: AnswerJob, question: Question, by: By
) -> None:
    claim = taken(questions, claims, job)
    redis.delete(*[question.claim_key] if by == "sweep" else ["none"])
    assert questions.end(question, DONE, by).done
    with pytest.raises(Lost):
        claim.begin_saving()
    assert not claim.end(ERROR).done
    assert terminals(redis, question) == ["done"]


def test_the_worker_hears_at_once_that_its_question_was_ended(
    questions: Asked, claims: Claims, job: AnswerJob, question: Question, until: Callable, redis: Redis
) -> None:
    heard = threading.Event()
    claim = taken(questions, claims, job)
    claim.fence.on_close = heard.set
    until(lambda: redis.pubsub_numsub(module.ENDED)[0][1] > 0)
    time.sleep(0.1)  # the first renewal is over: it is the message that is heard
    questions.end(question, DONE, "cancel")
    assert heard.wait(0.3)
    with pytest.raises(Lost):
        claim.check()


def test_a_message_that_was_not_heard_is_noticed_at_the_next_renewal(
    redis: Redis, questions: Asked, claims: Claims, job: AnswerJob, question: Question, until: Callable
) -> None:
    claim = taken(questions, claims, job)
    redis.set(question.terminal_key, "somebody else", px=10_000)
    until(lambda: claim.fence.closed, within=5)


def test_what_is_being_saved_cannot_be_cancelled(
    redis: Redis, questions: Asked, claims: Claims, job: AnswerJob, question: Question
) -> None:
    claim = taken(questions, claims, job)
    claim.begin_saving()
    renewed(redis, claim)  # a renewal forgets nothing
    assert not questions.end(question, DONE, "cancel").done
    assert claim.end(DONE).done
    assert terminals(redis, question) == ["done"]


def test_a_worker_that_ends_breaks_its_answers_off(
    redis: Redis, questions: Asked, claims: Claims, job: AnswerJob, question: Question
) -> None:
    """Whatever waits for openRAG is told; the claim is still the worker's, which tells the client."""
    claim = taken(questions, claims, job)
    left: list[bool] = []
    claim.fence.on_close = lambda: left.append(True)
    claims.interrupt()
    assert left == [True]
    with pytest.raises(Interrupted):
        claim.check()
    with pytest.raises(Interrupted):
        claim.begin_saving()
    assert claim.end(ERROR).done
    assert terminals(redis, question) == ["error"]


def test_a_worker_that_ends_saves_what_it_is_about_to_save(
    redis: Redis, questions: Asked, claims: Claims, job: AnswerJob, question: Question
) -> None:
    claim = taken(questions, claims, job)
    claim.begin_saving()
    claims.interrupt()
    claim.check()
    claim.begin_saving()  # once more, after a conflict
    assert claim.end(DONE).done
    assert terminals(redis, question) == ["done"]


def renewed(redis: Redis, claim: Claim) -> bool:
    with redis.pipeline(transaction=False) as pipe:
        claim.renew(pipe)
        return bool(pipe.execute()[0])


@pytest.mark.parametrize("state", ["marked", "claimed", "being saved"])
def test_the_sweep_never_ends_what_lives(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question, state: str
) -> None:
    questions.ask(job)
    if state in ("claimed", "being saved"):
        claim = held(redis, questions, question)
    if state == "being saved":
        claim.begin_saving()
    assert not questions.end(question, ERROR, "sweep").done
    assert docs(redis, question) == []


def test_a_claim_lives_as_long_as_its_process_renews_it(
    redis: Redis, questions: Asked, claims: Claims, job: AnswerJob, question: Question, until: Callable
) -> None:
    claim = taken(questions, claims, job)
    redis.pexpire(question.claim_key, 3000)
    until(lambda: redis.pttl(question.claim_key) > 4000)
    assert claims.take(question) is None  # its message comes once more, to the same process
    redis.pexpire(question.claim_key, 3000)
    until(lambda: redis.pttl(question.claim_key) > 4000)
    claims.release(claim)
    redis.pexpire(question.claim_key, 2500)
    time.sleep(2.2)
    assert redis.pttl(question.claim_key) < 1000


# A Redis that lost its data


@pytest.mark.parametrize("saving", ["", "saving"])
def test_a_claim_that_redis_lost_is_made_again(
    redis: Redis, questions: Asked, job: AnswerJob, question: Question, saving: str
) -> None:
    questions.ask(job)
    claim = held(redis, questions, question)
    redis.delete(question.claim_key, question.line_key)
    if saving:
        claim.begin_saving()
    else:
        assert renewed(redis, claim)
    assert redis.get(question.claim_key) == claim.fence.owner + saving
    assert 0 < redis.pttl(question.claim_key) <= CLAIMED * 1000
    assert not questions.end(question, ERROR, "sweep").done
    assert claim.end(DONE).done


def test_a_claim_that_redis_lost_is_made_again_by_what_is_published(
    redis: Redis, questions: Asked, publisher: Publisher, job: AnswerJob, question: Question
) -> None:
    questions.ask(job)
    claim = held(redis, questions, question)
    redis.delete(question.claim_key)
    publish(publisher, claim, {"object": "delta"})
    assert redis.get(question.claim_key) == claim.fence.owner
    assert not claim.fence.closed


def publish(publisher: Publisher, claim: Claim, doc: dict[str, Any]) -> None:
    publisher.publish(claim.question.domain, Event("CREATED", CHAT_EVENTS, claim.question.id, doc), claim.fence)
    publisher.flush()


def test_the_claim_of_another_worker_is_left_alone(
    redis: Redis, questions: Asked, publisher: Publisher, job: AnswerJob, question: Question
) -> None:
    questions.ask(job)
    old = held(redis, questions, question)
    redis.delete(question.claim_key)
    redis.set(question.mark_key, "1", px=1000)
    new = held(redis, questions, question)
    assert not renewed(redis, old)
    publish(publisher, old, {"object": "delta"})
    assert old.fence.closed
    assert not old.end(ERROR).done
    publish(publisher, new, {"object": "delta", "of": "new"})
    assert new.end(DONE).done
    assert [doc.get("of") for doc in docs(redis, question)] == ["new", None]


def test_after_its_end_nothing_of_a_question_is_published(
    redis: Redis, questions: Asked, publisher: Publisher, job: AnswerJob, question: Question
) -> None:
    questions.ask(job)
    claim = held(redis, questions, question)
    publish(publisher, claim, {"object": "delta"})
    questions.end(question, DONE, "cancel")
    closed = threading.Event()
    claim.fence.on_close = closed.set
    publish(publisher, claim, {"object": "delta"})
    assert closed.is_set()
    assert [doc["object"] for doc in docs(redis, question)] == ["delta", "done"]
    assert not redis.exists(question.claim_key)


# Memory


def test_nothing_of_a_question_stays_for_ever(
    redis: Redis, questions: Asked, publisher: Publisher, domain: str
) -> None:
    """At every step, each key of it has an end."""

    def check() -> None:
        assert [key for key in redis.scan_iter(f"*{domain}*", count=10_000) if redis.ttl(key) == -1] == []

    first, second, third, fourth = (new_job(domain) for _ in range(4))
    for job in (first, second, third, fourth):
        questions.ask(job)
        check()
    claim = held(redis, questions, Question.of(first))
    publish(publisher, claim, {"object": "delta"})
    claim.begin_saving()
    check()
    claim.end(DONE)
    check()
    questions.end(Question.of(third), DONE, "cancel")
    questions.unmark(Question.of(second))
    questions.end(Question.of(second), ERROR, "sweep")
    questions.take_back(Question.of(fourth))
    check()
    left = {key.split(":")[1] for key in redis.scan_iter(f"*{domain}*", count=10_000)}
    assert left == {"terminal", "history", "active", "revision"}


# Whatever races


@dataclass
class Race:
    """One question, two workers that may take it, and what is lost on the way."""

    redis: Redis
    questions: Asked
    job: AnswerJob
    told: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    cancelled: bool = False
    claims: dict[str, Claim] = field(default_factory=dict)

    @property
    def question(self) -> Question:
        return Question.of(self.job)

    def end(self, by: By) -> None:
        if self.questions.end(self.question, DONE if by == "cancel" else ERROR, by).done:
            self.told.append(by)
            self.cancelled = self.cancelled or by == "cancel"

    def take(self, worker: str) -> None:
        claim = Claim(self.questions, self.redis, self.question)
        if self.questions.take(self.question, claim.fence.owner):
            self.claims[worker] = claim

    def save(self, worker: str) -> None:
        if claim := self.claims.get(worker):
            try:
                claim.begin_saving()
            except Lost:
                return
            self.saved.append(worker)

    def finish(self, worker: str) -> None:
        if (claim := self.claims.pop(worker, None)) and claim.end(DONE).done:
            self.told.append(worker)

    def do(self, step: str) -> None:
        name, _, worker = step.partition(" ")
        match name:
            case "take" | "save" | "finish":
                getattr(self, name)(worker)
            case "cancel" | "sweep":
                self.end(name)
            case "ask":
                self.questions.ask(self.job)
            case "lose-claim":
                self.redis.delete(self.question.claim_key)
            case "lose-mark":
                self.redis.delete(self.question.mark_key)

    def settle(self) -> None:
        """In the end nobody lives any more, and the sweep comes."""
        self.redis.delete(self.question.claim_key, self.question.mark_key)
        self.end("sweep")


@pytest.fixture(scope="module")
def channel_of_races(redis: Redis) -> Iterator[tuple[str, Any]]:
    domain = f"races{uuid.uuid4().hex}.localhost"
    with redis.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe(channel(domain))
        pubsub.get_message(timeout=1)
        yield domain, pubsub


def published(pubsub: Any) -> Iterator[dict[str, Any]]:
    """The docs that came on the channel up to now."""
    while message := pubsub.get_message(timeout=0.1):
        yield json.loads(message["data"].partition("\n")[2])["payload"]["doc"]


STEPS = [
    *(f"{step} {worker}" for step in ("take", "save", "finish") for worker in "ab"),
    *("cancel", "sweep", "lose-claim", "lose-mark"),
]


@settings(max_examples=150)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=12), asked=st.just(0) | st.integers(0, 3))
def test_whatever_the_order_there_is_one_terminal_event(
    steps: list[str], asked: int, redis: Redis, questions: Asked, channel_of_races: tuple[str, Any]
) -> None:
    domain, _ = channel_of_races
    job = new_job(domain, conversation_id=uuid.uuid4().hex)
    race = Race(redis, questions, job)
    for step in [*steps[:asked], "ask", *steps[asked:]]:
        race.do(step)
    race.settle()
    assert not redis.exists(race.question.line_key)
    assert len(race.told) == 1
    assert len(terminals(redis, race.question)) == 1
    assert len(set(race.saved)) <= 1
    if "lose-claim" not in steps:
        assert not (race.cancelled and race.saved)


def test_whoever_races_there_is_one_terminal_event(
    redis: Redis, questions: Asked, publisher: Publisher, channel_of_races: tuple[str, Any]
) -> None:
    domain, pubsub = channel_of_races
    list(published(pubsub))
    races = [_raced(redis, questions, publisher, domain, random.Random(seed)) for seed in range(120)]  # noqa: S311
    assert [len(race.told) for race in races] == [1] * len(races)
    assert [len(terminals(redis, race.question)) for race in races] == [1] * len(races)
    assert not any(race.cancelled and race.saved for race in races)
    assert {race.told[0] for race in races} == {"a", "cancel", "sweep"}
    for race in races:
        assert docs(redis, race.question)[-1]["object"] in ("done", "error")
    told = [doc["_id"] for doc in published(pubsub) if doc.get("object") in ("done", "error")]
    assert sorted(told) == sorted(race.question.id for race in races)


def _raced(redis: Redis, questions: Asked, publisher: Publisher, domain: str, chance: random.Random) -> Race:
    """A worker, a cancel and a sweep at once; in some rounds the mark or the claim is lost."""
    job = new_job(domain, conversation_id=uuid.uuid4().hex)
    race = Race(redis, questions, job)
    questions.ask(job)
    if chance.random() < 0.3:
        questions.unmark(race.question)
    start = threading.Barrier(4)

    def work() -> None:
        race.take("a")
        if claim := race.claims.get("a"):
            for _ in range(3):
                event = Event("CREATED", CHAT_EVENTS, race.question.id, {"object": "delta"})
                publisher.publish(domain, event, claim.fence)
            publisher.flush()
        race.save("a")
        race.finish("a")

    def after_a_while(act: Callable[[], None], wait: float) -> Callable[[], None]:
        def run() -> None:
            start.wait()
            time.sleep(wait)
            act()

        return run

    acts = [work, lambda: race.end("cancel"), lambda: race.end("sweep"), lambda: race.end("sweep")]
    threads = [threading.Thread(target=after_a_while(act, chance.uniform(0, 0.006))) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    race.settle()
    return race
