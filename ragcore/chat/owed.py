"""The questions that wait for their answers, in the ledger, and the sweep that ends those that nobody answers.

A question comes into the ledger before it is saved, and is enqueued after that.
"""

import logging
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import inf

from ragcore.chat import conversations
from ragcore.chat.errors import INTERRUPTED, AnswerError
from ragcore.documents import CONVERSATIONS
from ragcore.errors import NotFound, RagcoreError, Retryable, Unanswered
from ragcore.jobs import Queue
from ragcore.ledger import BEHIND_QUESTIONS, DOCTYPE, LOST_AFTER, QUESTION
from ragcore.questions import OLDEST, Ending, Question, State
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL, Document

log = logging.getLogger(__name__)

DONE = {"object": "done"}
SAVED_WITHIN = 30.0  # seconds from a question's entry to its conversation, or its API is taken for dead


@dataclass(frozen=True)
class Entry:
    """Of the ledger, while it is written."""

    owed: "OwedQuestions"
    question: Question
    saved: Future[Document]

    def wait(self) -> None:
        """Raises what the store raises; nothing else was written then."""
        try:
            self.saved.result()
        except Unanswered as error:
            raise Retryable(str(error), error.retry_after) from error

    def remove(self) -> None:
        """Its question is not asked. What is not removed here is removed by the sweep."""
        try:
            self.owed.runtime.store.delete(GLOBAL, DOCTYPE, self.saved.result())
        except RagcoreError:  # it may be written all the same
            self.owed.remove(self.question)


@dataclass(frozen=True)
class OwedQuestions:
    runtime: Runtime
    queue: Queue

    def enter(self, question: Question) -> Entry:
        """Writes meanwhile that an answer is owed."""
        entry = {"_id": owed_id(question), **asdict(question), "at": time.time()}
        return Entry(self, question, self.runtime.store.save_together(GLOBAL, DOCTYPE, entry))

    def remove(self, question: Question) -> None:
        """What is not removed here is removed by the sweep."""
        store = self.runtime.store
        try:
            store.delete(GLOBAL, DOCTYPE, store.get(GLOBAL, DOCTYPE, owed_id(question)))
        except RagcoreError as error:
            log.info("question %s stays in the ledger until the sweep: %s", question.id, error)

    def go_on(self, ending: Ending) -> None:
        """Hands over the next question of the conversation. What fails here is ended by the sweep."""
        if ending.following:
            following = Question.of(ending.following)
            try:
                self.queue.answer(ending.following)
            except Retryable as error:
                log.warning("question %s is left to the sweep: %s", following.id, error)
                with suppress(Retryable):
                    self.runtime.questions.unmark(following)
            else:
                with suppress(Retryable):  # a worker may have it before the mark is over
                    self.runtime.questions.mark_again(following)

    def sweep(self, now: float) -> int:
        """Ends the questions that are owed and answered by nobody: how many."""
        return sum(self._sweep(ids, now) for ids in self.runtime.store.ids(GLOBAL, DOCTYPE, QUESTION, BEHIND_QUESTIONS))

    def _sweep(self, ids: list[str], now: float) -> int:
        """Those that somebody has, or that wait in the queue, are many in a rush: they are not read."""
        if not ids:
            return 0
        ages = self.runtime.questions.ages(list(map(_named, ids)))
        is_empty = any(LOST_AFTER < age < inf for age in ages) and self._queue_is_empty()
        wanted = [at for at, age in zip(ids, ages, strict=True) if age > (LOST_AFTER if is_empty else OLDEST)]
        entries = self.runtime.store.get_many(GLOBAL, DOCTYPE, wanted).values()
        owed = {question_of(entry): entry for entry in entries}
        states = dict(zip(owed, self.runtime.questions.states(list(owed)), strict=True))
        over = [question for question, state in states.items() if state.ended]
        nobodys = [question for question, state in states.items() if state.is_owed_by_nobody]
        lost = [question for question in nobodys if not self._is_to_come(owed[question], now)]
        self._end_lost_heads(states)
        if late := [question for question, state in states.items() if state.marked_for > LOST_AFTER]:
            self.runtime.questions.hurry(late)
        lost = [question for question in lost if self._end(question)]
        gone = [owed[question] | {"_deleted": True} for question in [*over, *lost]]
        self.runtime.store.save_each(GLOBAL, DOCTYPE, gone)
        return len(lost)

    def _is_to_come(self, entry: Document, now: float) -> bool:
        """Whether its API may still be about to save it, or to enqueue it."""
        age = abs(now - entry["at"])  # a clock may have been set back
        return age < LOST_AFTER or (age < SAVED_WITHIN and not self._is_saved(question_of(entry)))

    def _is_saved(self, question: Question) -> bool:
        store = self.runtime.store
        try:
            instance = self.runtime.instances.get(question.domain)
            return conversations.with_message(store, instance, question.conversation_id, question.id) is not None
        except RagcoreError:
            return False

    def _end_lost_heads(self, states: dict[Question, State]) -> None:
        """The first question of a line may be in no ledger: a Redis that went back in time has lost its end. Those
        behind it wait for that."""
        ids = {replace(question, id=state.ahead) for question, state in states.items() if state.ahead} - states.keys()
        heads = dict(zip(ids, self.runtime.questions.states(list(ids)) if ids else (), strict=True))
        for head in (head for head, state in heads.items() if state.is_owed_by_nobody):
            self._end(head)
        late = [head for head, state in heads.items() if state.marked_for > LOST_AFTER]
        if late and self._queue_is_empty():
            self.runtime.questions.hurry(late)

    def _queue_is_empty(self) -> bool:
        """Messages may have been lost then. What does not answer is not known to be empty."""
        try:
            return not self.queue.has_answers()
        except Retryable as error:
            log.warning("no question is taken for lost: %s", error)
            return False

    def _end(self, question: Question) -> bool:
        """Its worker is gone: it may have saved the answer before. False when it was taken meanwhile: it stays owed."""
        try:
            doc = DONE if self._is_answered(question) else AnswerError(*INTERRUPTED).document()
            ending = self.runtime.questions.end(question, doc, "sweep")
        except RagcoreError as error:
            log.warning("question %s: %s", question.id, error)
            return False
        self.go_on(ending)
        if ending.done:
            log.warning("%s: question %s was answered by nobody: ended", question.domain, question.id)
            self._release(question)
        return ending.done

    def _release(self, question: Question) -> None:
        """What its worker had reserved of the AI budget. What stays ends by itself, later."""
        if self.runtime.config.plans:
            with suppress(RagcoreError):
                self.runtime.budgets.release(self.runtime.instances.get(question.domain), question.id)

    def _is_answered(self, question: Question) -> bool:
        try:
            instance = self.runtime.instances.get(question.domain)
            doc = self.runtime.store.get(instance, CONVERSATIONS, question.conversation_id)
            return conversations.is_answered(doc, question.id)
        except NotFound:
            return False


def owed_id(question: Question) -> str:
    return f"{QUESTION}{question.domain}:{question.id}"


def _named(entry_id: str) -> tuple[str, str]:
    """The domain and the id of the question."""
    domain, _, question_id = entry_id.removeprefix(QUESTION).rpartition(":")
    return domain, question_id


def question_of(doc: Document) -> Question:
    return Question(doc["domain"], doc["conversation_id"], doc["id"])
