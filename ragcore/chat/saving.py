"""The questions that API processes are about to save.

One that is killed between saving a question and writing into the ledger that its answer is owed leaves it here, for the
sweep to find.
"""

import json
from functools import partial

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import retryable
from ragcore.questions import Question

KEY = "ragcore:saving"  # a sorted set: the questions, by the Unix time at which they came
SAVED_WITHIN = 30.0  # seconds, or its API is taken for dead

_told = partial(retryable, RedisError, "questions cannot be saved: Redis does not answer")


class Saving:
    """Each call raises Retryable when Redis does not answer."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def begin(self, question: Question, now: float) -> None:
        with _told():
            self._redis.zadd(KEY, {_member(question): now})

    def end(self, question: Question) -> bool:
        """It stands in the ledger from now on, or is not to: whether it is over already."""
        with _told(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zrem(KEY, _member(question))
            pipe.exists(question.terminal_key)
            return bool(pipe.execute()[1])

    def left(self, now: float) -> list[Question]:
        """Those that came too long ago. What another version noted with other fields is left to that."""
        with _told():
            members = self._redis.zrangebyscore(KEY, 0, now - SAVED_WITHIN)
        fields = [json.loads(str(member)) for member in members]
        return [Question(*each) for each in fields if len(each) == len(Question.__dataclass_fields__)]


def _member(question: Question) -> str:
    return json.dumps(list(vars(question).values()))
