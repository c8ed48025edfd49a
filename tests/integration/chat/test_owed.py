"""No question stays without its end: the ledger, its sweep, and messages that come twice, late or never."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import Timer
from typing import Any

import pytest

from ragcore import questions
from ragcore.chat import conversations
from ragcore.chat.accept import accept
from ragcore.chat.answer import answer_question
from ragcore.chat.cancel import cancel
from ragcore.chat.owed import LOST_AFTER, SAVED_WITHIN, OwedQuestions, owed_id, question_of
from ragcore.claims import Claim
from ragcore.documents import CONVERSATIONS
from ragcore.errors import Invalid, NotFound, Retryable, Unanswered
from ragcore.events import Event, Publisher
from ragcore.events.history import history_key
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob
from ragcore.ledger import DOCTYPE
from ragcore.questions import HANDED_OVER_WITHIN, OLDEST, TAKEN_WITHIN, Question, Questions
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL
from ragcore.work import SWEEP_EVERY, SWEEPING
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.support.api import Client
from tests.support.questions import docs, terminals
from tests.support.sandbox import Sandbox


@dataclass
class Recorded:
    """A queue that nobody takes from; it can be out of order, and lose what it has."""

    jobs: list[AnswerJob] = field(default_factory=list)
    broken: bool = False

    def answer(self, job: AnswerJob) -> None:
        if self.broken:
            raise Retryable("the queue is away")
        self.jobs.append(job)

    def has_answers(self) -> bool:
        return bool(self.jobs)


@dataclass
class Chat:
    """A conversation whose questions this process answers, or does not."""

    runtime: Runtime
    instance: Instance
    queue: Recorded = field(default_factory=Recorded)
    conversation_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def owed(self) -> OwedQuestions:
        return OwedQuestions(self.runtime, self.queue)

    def ask(self, q: str = "Hello") -> Question:
        body = {"q": q, "documents": False}
        doc = accept(self.runtime, self.queue, self.instance, self.conversation_id, body)
        return Question(self.instance.domain, self.conversation_id, doc["messages"][-1]["id"])

    def answer(self, job: AnswerJob | None = None) -> None:
        answer_question(self.runtime, self.queue, job or self.queue.jobs.pop(0))

    def sweep(self, after: float = LOST_AFTER + 1) -> None:
        """As if so many seconds had passed."""
        self.owed.sweep(time.time() + after)

    def taken(self, question: Question) -> Claim:
        """By a worker that dies at once."""
        claim = Claim(self.runtime.questions, self.runtime.redis, question)
        assert self.runtime.questions.take(question, claim.fence.owner)
        self.queue.jobs.pop(0)
        return claim

    def expire(self, *keys: str) -> None:
        self.runtime.redis.delete(*keys)

    def is_owed(self, question: Question) -> bool:
        try:
            return bool(self.runtime.store.get(GLOBAL, DOCTYPE, owed_id(question)))
        except NotFound:
            return False

    @property
    def owed_questions(self) -> list[Question]:
        entries = self.runtime.store.all(GLOBAL, DOCTYPE)
        return [question_of(entry) for entry in entries if entry["domain"] == self.instance.domain]

    def keys(self, *kinds: str) -> list[str]:
        keys = self.runtime.redis.keys(f"*{self.instance.domain}*")
        return [key for key in keys if key.split(":")[1] in kinds]

    @property
    def contents(self) -> list[str]:
        doc = self.runtime.store.get(self.instance, CONVERSATIONS, self.conversation_id)
        return [message["content"] for message in doc["messages"]]


@pytest.fixture
def chat(runtime: Runtime, instance: Instance) -> Iterator[Chat]:
    """While no process of the stack sweeps."""
    runtime.redis.set(SWEEPING, "the tests", px=int(SWEEP_EVERY * 4000))
    yield Chat(runtime, instance)
    owed = [doc for doc in runtime.store.all(GLOBAL, DOCTYPE) if doc.get("domain") == instance.domain]
    runtime.store.save_each(GLOBAL, DOCTYPE, [doc | {"_deleted": True} for doc in owed])
    runtime.redis.delete(SWEEPING)


def codes(chat: Chat, question: Question) -> list[str]:
    """The terminal events: `done`, or the codes of errors."""
    return [doc.get("code", "done") for doc in terminals(chat.runtime, question)]


# What is owed


def test_a_question_is_owed_until_it_has_its_end(chat: Chat, sandbox: Sandbox) -> None:
    question = chat.ask()
    assert chat.is_owed(question)
    chat.sweep()
    assert chat.is_owed(question)
    sandbox.script({"content": "Yes."})
    chat.answer()
    assert codes(chat, question) == ["done"]
    chat.sweep()
    assert not chat.is_owed(question)
    assert codes(chat, question) == ["done"]


def test_a_question_that_cannot_be_enqueued_leaves_nothing(chat: Chat) -> None:
    chat.queue.broken = True
    with pytest.raises(Retryable):
        chat.ask()
    with pytest.raises(NotFound):
        chat.runtime.store.get(chat.instance, CONVERSATIONS, chat.conversation_id)
    assert chat.keys("mark", "line", "claim") == chat.owed_questions == []
    chat.queue.broken = False
    chat.ask()
    assert len(chat.queue.jobs) == 1


def test_a_question_that_cannot_be_enqueued_leaves_nothing_where_a_conversation_was_deleted(chat: Chat) -> None:
    store = chat.runtime.store
    store.delete(chat.instance, CONVERSATIONS, store.save(chat.instance, CONVERSATIONS, {"_id": chat.conversation_id}))
    chat.queue.broken = True
    with pytest.raises(Retryable):
        chat.ask()
    with pytest.raises(NotFound):
        store.get(chat.instance, CONVERSATIONS, chat.conversation_id)


@pytest.mark.parametrize("date", [None, 5, {}])
def test_a_question_that_a_client_has_written_anew_is_taken_back(chat: Chat, date: Any) -> None:
    store, instance = chat.runtime.store, chat.instance
    made = store.save(instance, CONVERSATIONS, {"_id": chat.conversation_id, "messages": []})
    message = {"id": "q", "role": "user", "content": "Hello"} | ({"createdAt": date} if date is not None else {})
    store.save(instance, CONVERSATIONS, made | {"messages": [message], "cozyMetadata": {"createdAt": "2026-01-02"}})
    conversations.remove_question(store, instance, chat.conversation_id, "q")
    assert store.get(instance, CONVERSATIONS, chat.conversation_id)["messages"] == []


def test_a_conversation_that_was_there_before_stays_though_its_question_cannot_be_enqueued(chat: Chat) -> None:
    store = chat.runtime.store
    made = {"_id": chat.conversation_id, "title": "Mine", "cozyMetadata": {"createdAt": "2026-01-02T03:04:05.000Z"}}
    store.save(chat.instance, CONVERSATIONS, made)
    chat.queue.broken = True
    with pytest.raises(Retryable):
        chat.ask()
    assert store.get(chat.instance, CONVERSATIONS, chat.conversation_id)["title"] == "Mine"


def test_a_question_too_many_is_refused_and_leaves_nothing(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "LONGEST_LINE", 2)
    asked = [chat.ask("One"), chat.ask("Two")]
    with pytest.raises(Retryable):
        chat.ask("Three")
    assert chat.contents == ["One", "Two"]
    assert chat.runtime.redis.llen(asked[0].line_key) == 2


def test_a_cancel_that_is_quicker_than_the_question_holds_up_nobody(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question is in its conversation, and not in the line yet."""
    ask = Questions.ask

    def late(asked: Questions, job: AnswerJob, event: Event) -> bool:
        cancel(chat.runtime, chat.queue, chat.instance, chat.conversation_id)
        return ask(asked, job, event)

    with monkeypatch.context() as patched:
        patched.setattr(Questions, "ask", late)
        first = chat.ask("One")
    assert codes(chat, first) == ["done"]
    assert not chat.is_owed(first)
    second = chat.ask("Two")
    assert [job.question_id for job in chat.queue.jobs] == [second.id]


# What the sweep does


def test_the_sweep_tells_an_error_when_a_worker_is_gone_and_hands_over_the_next(chat: Chat) -> None:
    first, second = chat.ask("One"), chat.ask("Two")
    chat.taken(first)
    chat.sweep()
    assert codes(chat, first) == []
    chat.expire(first.claim_key)
    chat.sweep()
    assert codes(chat, first) == ["interrupted"]
    assert not chat.is_owed(first)
    assert [job.question_id for job in chat.queue.jobs] == [second.id]
    chat.sweep()
    assert chat.is_owed(second)
    assert codes(chat, second) == []


def test_the_sweep_tells_done_when_the_worker_had_saved_the_answer(
    chat: Chat, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(claim: Claim, doc: dict[str, Any]) -> None:
        raise Retryable("it is dead")

    sandbox.script({"content": "Yes."})
    question = chat.ask()
    with monkeypatch.context() as patched:
        patched.setattr(Claim, "end", killed)
        chat.answer()
    assert chat.contents == ["Hello", "Yes."]
    assert codes(chat, question) == []
    chat.expire(question.claim_key)
    chat.sweep()
    assert codes(chat, question) == ["done"]
    assert chat.contents == ["Hello", "Yes."]


def test_a_question_that_is_taken_while_the_sweep_looks_stays_owed(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    question = chat.ask()
    states = Questions.states

    def stale(questions: Questions, asked: list[Question]) -> Any:
        mark = chat.runtime.redis.getdel(question.mark_key)
        found = states(questions, asked)
        chat.runtime.redis.set(question.mark_key, mark, px=1000)
        chat.taken(question)
        return found

    monkeypatch.setattr(Questions, "states", stale)
    chat.sweep()
    assert codes(chat, question) == []
    assert chat.is_owed(question)


def test_a_message_that_the_queue_lost_is_noticed_when_the_queue_is_empty(chat: Chat) -> None:
    question = chat.ask()
    lost = chat.queue.jobs.copy()
    chat.queue.jobs.clear()
    chat.sweep()  # it may just have been taken
    chat.runtime.redis.pexpire(question.mark_key, int((OLDEST - LOST_AFTER - 1) * 1000))
    chat.queue.jobs.extend(lost)
    chat.sweep()  # it may be among those that wait
    assert codes(chat, question) == []
    chat.queue.jobs.clear()
    fresh = Chat(chat.runtime, chat.instance).ask()
    for _ in range(2):
        chat.sweep()  # a worker may be about to take it
        assert codes(chat, fresh) == codes(chat, question) == []
        assert (
            chat.runtime.redis.pttl(question.mark_key) <= TAKEN_WITHIN * 1000 < chat.runtime.redis.pttl(fresh.mark_key)
        )
    chat.expire(question.mark_key)
    chat.sweep()
    assert codes(chat, fresh) == []
    assert codes(chat, question) == ["interrupted"]
    chat.answer(lost[0])  # it was not lost after all
    assert codes(chat, question) == ["interrupted"]
    assert chat.contents == ["Hello"]


def test_a_lost_question_that_is_in_no_ledger_holds_up_no_other(chat: Chat) -> None:
    """As with a Redis that went back in time: it has lost that the first one was ended."""
    first, second = chat.ask("One"), chat.ask("Two")
    chat.taken(first)
    chat.owed.remove(first)
    chat.expire(first.claim_key)
    chat.sweep()
    assert codes(chat, first) == ["interrupted"]
    assert [job.question_id for job in chat.queue.jobs] == [second.id]


def test_a_question_that_could_not_be_handed_over_is_told_an_error(chat: Chat) -> None:
    first, second, third = chat.ask("One"), chat.ask("Two"), chat.ask("Three")
    chat.taken(first)
    chat.expire(first.claim_key)
    chat.queue.broken = True
    chat.sweep()
    chat.queue.broken = False
    chat.sweep()
    assert [codes(chat, question) for question in (first, second, third)] == [["interrupted"], ["interrupted"], []]
    assert [job.question_id for job in chat.queue.jobs] == [third.id]


def test_the_next_question_is_in_the_queue_for_long(chat: Chat) -> None:
    first, second = chat.ask("One"), chat.ask("Two")
    chat.answer()
    assert chat.runtime.redis.pttl(second.mark_key) > HANDED_OVER_WITHIN * 1000
    assert codes(chat, first) != []


def test_a_question_that_is_in_the_queue_is_answered_though_its_mark_cannot_be_made_longer(
    chat: Chat, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise Retryable("Redis does not answer")

    first, second = chat.ask("One"), chat.ask("Two")
    sandbox.script({"content": "Yes."}, times=2)
    with monkeypatch.context() as patched:
        patched.setattr(Questions, "mark_again", away)
        chat.answer()
    chat.answer()
    assert [codes(chat, question) for question in (first, second)] == [["done"], ["done"]]


def test_one_question_that_cannot_be_ended_keeps_no_other_from_its_end(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = chat.ask(), Chat(chat.runtime, chat.instance).ask()
    for question in (one, other):
        chat.expire(question.mark_key)
    get = chat.runtime.store.get

    def broken(owner: Any, doctype: str, doc_id: str) -> Any:
        if doc_id == one.conversation_id:
            raise Retryable("the database does not answer")
        return get(owner, doctype, doc_id)

    with monkeypatch.context() as patched:
        patched.setattr(chat.runtime.store, "get", broken)
        chat.sweep()
    assert (codes(chat, one), codes(chat, other)) == ([], ["interrupted"])
    chat.sweep()
    assert codes(chat, one) == ["interrupted"]


# An API that fails, or is killed, while it accepts a question


def test_a_question_that_is_refused_is_not_owed(chat: Chat) -> None:
    result = {"messageID": "unknown", "ok": True, "content": "Done."}
    with pytest.raises(Invalid):
        accept(chat.runtime, chat.queue, chat.instance, chat.conversation_id, {"result": result})
    assert chat.owed_questions == []


@dataclass
class Outage:
    """Of the document database: writes of a doctype are refused, `done` all the same or not, or reads as well."""

    runtime: Runtime
    doctype: str
    done: bool = False
    reads: bool = False
    error: type[Retryable] = Retryable

    def begin(self, patched: pytest.MonkeyPatch) -> None:
        save, get = self.runtime.store.save, self.runtime.store.get

        def broken_save(owner: Any, doctype: str, doc: Any, tell: bool = True) -> Any:
            if doctype == self.doctype:
                if self.done:
                    save(owner, doctype, doc, tell)
                patched.setattr(self.runtime.store, "get", broken_get if self.reads else get)
                raise self.error("the database does not answer")
            return save(owner, doctype, doc, tell)

        def broken_get(owner: Any, doctype: str, doc_id: str) -> Any:
            raise Retryable("the database does not answer")

        patched.setattr(self.runtime.store, "save", broken_save)


@pytest.mark.parametrize("doctype", [DOCTYPE, CONVERSATIONS])
def test_a_question_that_cannot_be_entered_or_saved_is_refused_and_leaves_nothing(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, doctype: str
) -> None:
    with monkeypatch.context() as patched:
        Outage(chat.runtime, doctype).begin(patched)
        with pytest.raises(Retryable):
            chat.ask()
    with pytest.raises(NotFound):
        chat.runtime.store.get(chat.instance, CONVERSATIONS, chat.conversation_id)
    assert chat.queue.jobs == chat.keys("mark", "line") == chat.owed_questions == []


def test_a_question_that_was_saved_though_the_database_said_no_is_asked(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        Outage(chat.runtime, CONVERSATIONS, done=True).begin(patched)
        question = chat.ask()
    assert [job.question_id for job in chat.queue.jobs] == [question.id]
    assert chat.is_owed(question)


def test_a_question_of_which_nobody_knows_whether_it_was_saved_is_told_an_error(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        Outage(chat.runtime, CONVERSATIONS, done=True, reads=True).begin(patched)
        with pytest.raises(Retryable):
            chat.ask()
    assert chat.contents == ["Hello"]
    (question,) = chat.owed_questions
    chat.sweep()
    assert codes(chat, question) == ["interrupted"]


def test_a_question_that_is_saved_after_it_was_refused_is_told_an_error(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer was lost while it was still being written."""
    save, late = chat.runtime.store.save, list[Callable[[], Any]]()

    def unanswered(owner: Any, doctype: str, doc: Any, tell: bool = True) -> Any:
        if doctype != CONVERSATIONS:
            return save(owner, doctype, doc, tell)
        late.append(lambda: save(owner, doctype, doc, tell))
        raise Unanswered("the database does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(chat.runtime.store, "save", unanswered)
        with pytest.raises(Retryable):
            chat.ask()
    late[0]()
    assert chat.contents == ["Hello"]
    (question,) = chat.owed_questions
    chat.sweep()
    assert codes(chat, question) == ["interrupted"]
    assert chat.owed_questions == []


def test_a_question_that_cannot_be_taken_back_is_told_an_error(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise Retryable("the database does not answer")

    chat.queue.broken = True
    with monkeypatch.context() as patched:
        patched.setattr(conversations, "remove_question", broken)
        with pytest.raises(Retryable):
            chat.ask()
    (question,) = chat.owed_questions
    chat.sweep()
    assert codes(chat, question) == ["interrupted"]


def test_a_question_whose_asking_cannot_be_taken_back_stays_owed_and_holds_up_no_other(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis goes away between the two."""

    def away(*_: object) -> None:
        raise Retryable("Redis does not answer")

    chat.queue.broken = True
    with monkeypatch.context() as patched:
        patched.setattr(Questions, "take_back", away)
        with pytest.raises(Retryable):
            chat.ask("One")
    chat.queue.broken = False
    (first,) = chat.owed_questions
    store = chat.runtime.store
    assert conversations.with_message(store, chat.instance, chat.conversation_id, first.id) is None
    second = chat.ask("Two")
    assert chat.queue.jobs == []
    chat.runtime.redis.pexpire(first.mark_key, int((OLDEST - LOST_AFTER - 1) * 1000))
    chat.sweep()
    chat.expire(first.mark_key)
    chat.sweep(after=SAVED_WITHIN + 1)
    assert codes(chat, first) == ["interrupted"]
    assert [job.question_id for job in chat.queue.jobs] == [second.id]


def test_a_question_that_cannot_be_enqueued_costs_the_next_nothing(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was asked while the broker did not answer, which does so by now."""
    answer, asked = chat.queue.answer, list[Question]()

    def late(job: AnswerJob) -> None:
        monkeypatch.setattr(chat.queue, "answer", answer)
        asked.append(chat.ask("Two"))
        raise Retryable("the broker does not answer")

    monkeypatch.setattr(chat.queue, "answer", late)
    with pytest.raises(Retryable):
        chat.ask("One")
    assert [job.question_id for job in chat.queue.jobs] == [asked[0].id]
    assert chat.owed_questions == asked


def test_a_message_that_is_with_a_worker_though_the_broker_said_no_is_accepted(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(job: AnswerJob) -> None:
        assert chat.runtime.questions.take(Question.of(job), "w" * 32)
        raise Retryable("the broker does not answer")

    monkeypatch.setattr(chat.queue, "answer", taken)
    question = chat.ask()
    assert chat.owed_questions == [question]


def test_a_marked_question_that_is_in_no_ledger_holds_up_no_other(chat: Chat) -> None:
    """A Redis that went back in time has lost its end, and its message is gone."""
    first, second = chat.ask("One"), chat.ask("Two")
    OwedQuestions(chat.runtime, chat.queue).remove(first)
    chat.queue.jobs.clear()
    chat.runtime.redis.pexpire(first.mark_key, int((OLDEST - LOST_AFTER - 1) * 1000))
    chat.sweep()
    assert 0 < chat.runtime.redis.pttl(first.mark_key) <= TAKEN_WITHIN * 1000
    chat.expire(first.mark_key)
    chat.sweep()
    assert [job.question_id for job in chat.queue.jobs] == [second.id]


def test_a_refused_message_is_not_owed_and_read_once(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> None:
        raise Retryable("the database does not answer")

    monkeypatch.setattr(conversations, "with_message", unreadable)
    result = {"messageID": "unknown", "ok": True, "content": "Done."}
    with pytest.raises(Invalid):
        accept(chat.runtime, chat.queue, chat.instance, chat.conversation_id, {"result": result})
    assert chat.owed_questions == []


@pytest.mark.parametrize("error", [Retryable, Unanswered])
def test_an_entry_that_was_written_though_the_database_said_no_is_removed(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, error: type[Retryable]
) -> None:
    with monkeypatch.context() as patched:
        Outage(chat.runtime, DOCTYPE, done=True, error=error).begin(patched)
        with pytest.raises(Retryable):
            chat.ask()
    assert chat.owed_questions == []


def test_a_worker_that_ends_gives_the_message_back_for_as_long_as_before(chat: Chat) -> None:
    question = chat.ask()
    chat.runtime.questions.hurry([question])
    job = chat.queue.jobs.pop()
    chat.runtime.ending.set()
    try:
        answer_question(chat.runtime, chat.queue, job)
    finally:
        chat.runtime.ending.clear()
    assert chat.queue.jobs == [job]
    assert chat.runtime.redis.pttl(question.mark_key) > TAKEN_WITHIN * 1000


def test_more_entries_than_a_page_are_swept(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [chat.ask(str(number)) for number in range(5)]
    monkeypatch.setattr("ragcore.store.documents.PAGE", 2)
    for question in asked:
        chat.expire(question.mark_key)
        chat.sweep()
    assert [codes(chat, question) for question in asked] == [["interrupted"]] * 5


def killed_at(chat: Chat, place: tuple[Any, str]) -> Question:
    """The question that was asked when the API was killed there."""

    def killed(*_: object, **__: object) -> None:
        raise SystemExit

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(*place, killed)
        with pytest.raises(SystemExit):
            chat.ask()
    deadline = time.monotonic() + 10
    while not (asked := chat.owed_questions) and time.monotonic() < deadline:  # it is entered meanwhile
        time.sleep(0.01)
    return asked[0]


def test_what_was_written_before_a_question_is_told_before_it(chat: Chat) -> None:
    for number in range(100):
        written = {"_id": str(number), "_rev": "2-a"}
        chat.runtime.publisher.publish(chat.instance.domain, Event.of_write("io.cozy.files", written))
    chat.ask()
    told = chat.runtime.redis.xrange(history_key(chat.instance.domain, ""))
    ids = [json.loads(fields["e"])["payload"]["id"] for _, fields in told]
    assert ids[-101:] == [*map(str, range(100)), chat.conversation_id]


@pytest.mark.parametrize("place", [(Publisher, "flush"), (Questions, "ask"), (Recorded, "answer")])
def test_a_question_that_was_saved_and_not_enqueued_is_told_an_error(chat: Chat, place: tuple[Any, str]) -> None:
    question = killed_at(chat, place)
    chat.sweep(after=LOST_AFTER - 1)  # it may still be about to be enqueued
    assert codes(chat, question) == []
    chat.expire(question.mark_key)
    chat.sweep()
    assert codes(chat, question) == ["interrupted"]
    assert not chat.is_owed(question)


def test_a_question_that_is_being_saved_for_long_is_not_taken_for_lost(chat: Chat) -> None:
    question = killed_at(chat, (conversations, "add_question"))
    chat.sweep(after=SAVED_WITHIN - 1)
    assert codes(chat, question) == []
    assert chat.is_owed(question)
    chat.sweep(after=SAVED_WITHIN + 1)
    assert codes(chat, question) == ["interrupted"]
    assert not chat.is_owed(question)


def test_a_question_that_was_given_up_before_it_was_saved_is_not_enqueued(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_question = conversations.add_question

    def slow(*args: Any, **more: Any) -> Any:
        saved = add_question(*args, **more)
        chat.sweep(after=SAVED_WITHIN + 1)
        return saved

    monkeypatch.setattr(conversations, "add_question", slow)
    question = chat.ask()
    assert codes(chat, question) == ["interrupted"]
    assert chat.queue.jobs == []
    monkeypatch.undo()
    chat.ask("Two")
    assert len(chat.queue.jobs) == 1


def test_a_clock_that_was_set_back_keeps_no_question_from_its_end(chat: Chat) -> None:
    question = chat.ask()
    chat.expire(question.mark_key)
    chat.sweep(after=-3600)
    assert codes(chat, question) == ["interrupted"]


def test_a_broker_that_does_not_answer_keeps_no_question_from_its_end(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: Recorded) -> bool:
        raise Retryable("the broker does not answer")

    lost, waiting = chat.ask(), Chat(chat.runtime, chat.instance).ask()
    chat.expire(lost.mark_key)
    chat.runtime.redis.pexpire(waiting.mark_key, int((OLDEST - LOST_AFTER - 1) * 1000))
    monkeypatch.setattr(Recorded, "has_answers", away)
    chat.sweep()
    assert (codes(chat, lost), codes(chat, waiting)) == (["interrupted"], [])


# Messages that come twice, late, or for nothing


def test_a_message_that_is_delivered_twice_makes_one_answer(
    chat: Chat, client: Client, sandbox: Sandbox, until: Callable
) -> None:
    sandbox.script({"content": "Yes"}, {"sleep": 0.3}, {"content": "."}, times=2)
    question = chat.ask()
    workers = CeleryQueue(create_app(chat.runtime.config))
    for _ in range(3):
        workers.answer(chat.queue.jobs[0])
    assert client.events(question.id)[-1]["object"] == "done"
    workers.answer(chat.queue.jobs[0])
    until(lambda: not workers.has_answers() and not chat.runtime.redis.hlen("unacked"))
    assert [doc["object"] for doc in docs(chat.runtime, question)] == ["delta", "delta", "done"]
    assert chat.contents == ["Hello", "Yes."]
    assert len(sandbox.completions()) == 1


def test_a_question_that_has_its_answer_is_not_asked_again(chat: Chat, sandbox: Sandbox) -> None:
    question = chat.ask()
    answer = conversations.new_message("assistant", "Yes.")
    conversations.add_answer(chat.runtime.store, chat.instance, chat.conversation_id, question.id, answer)
    chat.answer()
    assert codes(chat, question) == ["done"]
    assert sandbox.completions() == []
    assert chat.contents == ["Hello", "Yes."]


def test_a_question_whose_job_comes_a_day_late_is_told_so(chat: Chat, sandbox: Sandbox) -> None:
    question = chat.ask()
    chat.answer(replace(chat.queue.jobs[0], asked_at=time.time() - OLDEST - 1))
    assert codes(chat, question) == ["late"]
    assert sandbox.completions() == []
    assert not chat.is_owed(question)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_question_whose_conversation_is_gone_is_told_so(chat: Chat, sandbox: Sandbox, when: str) -> None:
    question = chat.ask()
    store = chat.runtime.store

    def delete() -> None:
        store.delete(chat.instance, CONVERSATIONS, store.get(chat.instance, CONVERSATIONS, chat.conversation_id))

    sandbox.script({"content": "Yes"}, {"sleep": 1}, {"content": "."})
    if when == "before":
        delete()
    else:
        Timer(0.5, delete).start()
    chat.answer()
    assert codes(chat, question) == ["gone"]
    assert not chat.is_owed(question)


# In their order


def test_questions_that_are_posted_quickly_are_answered_in_their_order(
    client: Client, sandbox: Sandbox, until: Callable
) -> None:
    names = ["One", "Two", "Three"]
    for name in names:
        sandbox.script({"content": f"To {name}"}, {"sleep": 0.1}, {"content": "."}, match=name)
    conversation_id, first = client.ask(names[0], documents=False)
    asked = [first, *(client.ask(name, conversation_id, documents=False)[1] for name in names[1:])]
    for name, question_id in zip(names, asked, strict=True):
        events = client.events(question_id)
        assert [event.get("content") for event in events] == [f"To {name}", ".", None]
        assert [event.get("position") for event in events] == [0, 1, None]
    sent = [[message["content"] for message in body["messages"]] for body in sandbox.completions()]
    assert sent == [["One"], ["One", "To One.", "Two"], ["One", "To One.", "Two", "To Two.", "Three"]]
