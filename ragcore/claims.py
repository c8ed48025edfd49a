"""The questions that this process answers: claims, kept while it lives, and what closes them."""

import logging
import threading
import time
import uuid
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import RagcoreError, Retryable, retryable
from ragcore.events import Fence
from ragcore.questions import CLAIMED, ENDED, Ending, Question, Questions

log = logging.getLogger(__name__)

RENEW_EVERY = 2.0  # seconds

# KEYS: claim, terminal. ARGV: owner, ms of a claim, what is behind the owner while it saves. A claim that Redis lost is
# made again.
RENEW = """
local claim = redis.call('GET', KEYS[1])
if redis.call('EXISTS', KEYS[2]) == 1 or (claim and string.sub(claim, 1, 32) ~= ARGV[1]) then return 0 end
if ARGV[3] ~= '' or not claim then claim = ARGV[1] .. ARGV[3] end
redis.call('SET', KEYS[1], claim, 'PX', ARGV[2])
return 1
"""


class Lost(RagcoreError):
    """The question is not this worker's any more: it was cancelled, or its worker was taken for dead."""


class Interrupted(RagcoreError):
    """The process ends before the answer does."""


class Claim:
    """A question that this process answers. `fence` closes when it is not this process's any more."""

    def __init__(self, questions: Questions, redis: Redis, question: Question) -> None:
        self.question = question
        self.fence = Fence(question.claim_key, question.terminal_key, uuid.uuid4().hex, int(CLAIMED * 1000))
        self.taken = False
        self._saving = self._interrupted = False
        self._questions = questions
        self._redis = redis

    def take(self) -> bool:
        self.taken = self._questions.take(self.question, self.fence.owner)
        return self.taken

    def check(self) -> None:
        """Raises Lost, Interrupted."""
        if self.fence.closed:
            raise Lost(f"question {self.question.id} was ended by somebody else")
        if self._interrupted and not self._saving:
            raise Interrupted(f"the worker of question {self.question.id} ends")

    def interrupt(self) -> None:
        """Breaks the answer off, unless it is being saved: that is soon done."""
        self._interrupted = True
        self.fence.on_close()

    def begin_saving(self) -> None:
        """From now on it cannot be cancelled. Raises Lost, Interrupted, Retryable."""
        self.check()
        self._saving = True
        with retryable(RedisError, "a claim cannot be renewed: Redis does not answer"):
            held = self._redis.eval(RENEW, 2, *self._keys, *self._arguments, "saving")
        if not held:
            self.fence.close()
        self.check()

    def end(self, doc: dict[str, Any]) -> Ending:
        """Publishes the terminal event, behind all that was published before. Raises Retryable.

        A second time where its answer was lost: else nobody would hand over the next question.
        """
        try:
            return self._end(doc)
        except Retryable:
            return self._end(doc)

    def _end(self, doc: dict[str, Any]) -> Ending:
        return self._questions.end(self.question, doc, "owner", self.fence.owner)

    def renew(self, pipe: Redis) -> None:
        pipe.eval(RENEW, 2, *self._keys, *self._arguments, "")

    @property
    def _keys(self) -> tuple[str, str]:
        return self.fence.claim_key, self.fence.terminal_key

    @property
    def _arguments(self) -> tuple[str, int]:
        return self.fence.owner, self.fence.milliseconds


class Claims:
    """The questions that this process answers: one thread renews their claims, and hears which ones were ended."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._questions = Questions(redis)
        self._held: set[Claim] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def take(self, question: Question) -> Claim | None:
        """None when it is not to be answered: the message came twice, or the question was ended meanwhile."""
        claim = Claim(self._questions, self._redis, question)
        with self._lock:
            self._held.add(claim)  # before it is taken: its end is heard from the beginning
            self._start()
        try:
            return claim if claim.take() else None
        finally:
            if not claim.taken:
                self.release(claim)

    def release(self, claim: Claim) -> None:
        with self._lock:
            self._held.discard(claim)

    def interrupt(self) -> None:
        """Breaks off all answers of this process. Each of them tells its client."""
        with self._lock:
            claims = list(self._held)
        if claims:
            log.warning("%d answers are broken off", len(claims))
        for claim in claims:
            claim.interrupt()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="claims", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                with self._redis.pubsub() as pubsub:  # type: ignore[no-untyped-call]
                    pubsub.subscribe(ENDED)
                    self._keep(pubsub)
            except RedisError as error:
                log.warning("claims wait: Redis does not answer (%s)", type(error).__name__)
                time.sleep(0.2)

    def _keep(self, pubsub: Any) -> None:
        """A claim whose end was not heard is noticed when it is renewed."""
        due = time.monotonic()
        while True:
            if time.monotonic() >= due:
                due = time.monotonic() + RENEW_EVERY
                self._renew()
            message = pubsub.get_message(timeout=max(due - time.monotonic(), 0))
            if message and message["type"] == "message":
                self._close(message["data"])

    def _renew(self) -> None:
        with self._lock:
            claims = [claim for claim in self._held if claim.taken]
        if not claims:
            return
        with self._redis.pipeline(transaction=False) as pipe:
            for claim in claims:
                claim.renew(pipe)
            held = pipe.execute()
        for claim, still in zip(claims, held, strict=True):
            if not still:
                claim.fence.close()

    def _close(self, claim_key: str) -> None:
        with self._lock:
            ended = [claim for claim in self._held if claim.question.claim_key == claim_key]
        for claim in ended:
            claim.fence.close()
