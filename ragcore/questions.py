"""Whose turn it is to answer a question, all in Redis, each change in one step (the design, The ledger).

- *marked*: its message is on its way to the queue, or in it (or lost, as the sweep sees once the queue is empty);
- *claimed*: a worker answers it; its claim is renewed while that worker lives;
- *ended*: it has its terminal event. Who sets this mark publishes that event, nobody else does.

The questions of a conversation stand in a line, in the order in which they were asked: only the first one is handed to
the queue, and who ends it hands over the next. A question that is in none of these states, and first in its line, is
owed by nobody: the sweep ends it.
"""

import json
import logging
import math
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal

from redis import Redis
from redis.exceptions import RedisError

from ragcore.errors import Retryable, retryable
from ragcore.events import APPEND, CHAT_EVENTS, Event, append_arguments
from ragcore.events.history import REVISION_KEPT, revision_key
from ragcore.jobs import AnswerJob, from_message, to_message

log = logging.getLogger(__name__)

CLAIMED = 8.0  # seconds that a claim lasts without being renewed
LONGEST_LINE = 100  # questions of a conversation
HANDED_OVER_WITHIN = 30.0  # seconds from the mark of the next question to its message in the queue
TAKEN_WITHIN = 5.0  # seconds from a message's leaving the queue to its claim
OLDEST = 24 * 3600.0  # seconds; a question that is older is told an error, not answered
ENDED = "ragcore:ended"  # the channel on which workers hear that a question was ended for them

# Each script has KEYS and ARGV in the order of its comment. An owner has 32 characters; a claim whose answer is being
# saved is longer.

# KEYS: those of `append`, mark, line, terminal, revision. ARGV: those of `append`, question, job, ms of the mark and of
# the line, its longest length, seconds that a revision is remembered. Publishes the event of the revision, unless
# somebody did, and gives the place in the line: 1 for the first, 0 when it is full, -1 for a question that was ended
# before it stood there.
ASK = f"""{APPEND}
append_once(KEYS[7], ARGV[12])
if redis.call('EXISTS', KEYS[6]) == 1 then return -1 end
if redis.call('LLEN', KEYS[5]) >= tonumber(ARGV[11]) then return 0 end
local place = redis.call('RPUSH', KEYS[5], ARGV[8] .. '\\n' .. ARGV[9])
redis.call('PEXPIRE', KEYS[5], ARGV[10])
if place == 1 then redis.call('SET', KEYS[4], '1', 'PX', ARGV[10]) end
return place
"""
# KEYS: mark, claim, terminal. ARGV: owner, ms of a claim. The mark becomes the claim. A Redis that went back in time
# can have both.
TAKE = """
if redis.call('DEL', KEYS[1]) == 0 or redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1
"""
# Takes a question out of its line, and gives the job of the next, where it was the first: marked, for the time that it
# takes to hand it to the queue. Asked `again` by the owner of the question, which was the first, it gives what nobody
# has taken meanwhile.
LEAVE = """
local function leave(line, question, marks, ms, again)
  local waiting = redis.call('LRANGE', line, 0, -1)
  local was_first = again
  for place, entry in ipairs(waiting) do
    if string.sub(entry, 1, #question + 1) == question .. '\\n' then
      redis.call('LREM', line, 1, entry)
      table.remove(waiting, place)
      was_first = place == 1
      break
    end
  end
  if not was_first or not waiting[1] then return nil end
  local at = string.find(waiting[1], '\\n', 1, true)
  local mark = marks .. string.sub(waiting[1], 1, at - 1)
  if again and redis.call('EXISTS', mark) == 0 then return nil end
  redis.call('SET', mark, '1', 'PX', ms)
  return string.sub(waiting[1], at + 1)
end
"""
# KEYS: those of `append`, claim, terminal, mark, line. ARGV: those of `append`, owner, by, ms of the terminal mark,
# question, the keys of marks without their question, channel, ms of the next one's mark.
# Gives 1 when the question was ended by this call, and the job of the next in the line.
END = f"""{APPEND}{LEAVE}
local owner, by, question = ARGV[8], ARGV[9], ARGV[11]
local claim, terminal = redis.call('GET', KEYS[4]), redis.call('GET', KEYS[5])
if terminal then
  if terminal ~= owner then return {{0}} end
else
  if by == 'owner' and claim and string.sub(claim, 1, 32) ~= owner then return {{0}} end
  if by == 'cancel' and claim and #claim > 32 then return {{0}} end
  if by == 'sweep' and (claim or redis.call('EXISTS', KEYS[6]) == 1) then return {{0}} end
  redis.call('SET', KEYS[5], owner, 'PX', ARGV[10])
  append()
  redis.call('DEL', KEYS[4], KEYS[6])
  if by ~= 'owner' then redis.call('PUBLISH', ARGV[13], KEYS[4]) end
end
return {{1, leave(KEYS[7], question, ARGV[12], ARGV[14], by == 'owner' and terminal == owner)}}
"""
# KEYS: mark, claim, terminal, line. ARGV: question, the keys of marks without their question, ms of the next one's.
# As if it had not been asked; gives 0 for one that a worker has, or that is over, and the job of the next in the line.
TAKE_BACK = f"""{LEAVE}
if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then return {{0}} end
redis.call('DEL', KEYS[1])
return {{1, leave(KEYS[4], ARGV[1], ARGV[2], ARGV[3], false)}}
"""

# KEYS: marks. ARGV: ms that each of them stays, at most.
HURRY = """
for _, mark in ipairs(KEYS) do
  if redis.call('PTTL', mark) > tonumber(ARGV[1]) then redis.call('PEXPIRE', mark, ARGV[1]) end
end
"""
# KEYS: mark and claim of each question. Gives the ms that each mark has left, -1 for what is claimed, -2 for neither.
MARKS = """
local left = {}
for at = 1, #KEYS, 2 do
  table.insert(left, redis.call('EXISTS', KEYS[at + 1]) == 1 and -1 or redis.call('PTTL', KEYS[at]))
end
return left
"""

By = Literal["owner", "cancel", "sweep"]


@dataclass(frozen=True)
class Question:
    domain: str
    conversation_id: str
    id: str

    @classmethod
    def of(cls, job: AnswerJob) -> "Question":
        return cls(job.domain, job.conversation_id, job.question_id)

    @property
    def mark_key(self) -> str:
        return mark_key(self.domain, self.id)

    @property
    def claim_key(self) -> str:
        return claim_key(self.domain, self.id)

    @property
    def terminal_key(self) -> str:
        return f"ragcore:terminal:{{{self.domain}}}:{self.id}"

    @property
    def line_key(self) -> str:
        return f"ragcore:line:{{{self.domain}}}:{self.conversation_id}"


@dataclass(frozen=True)
class State:
    """`marked_for`: seconds since its message was on its way to the queue. `ahead`: the id of the first question of its
    line, which is answered before it."""

    marked_for: float
    marked: bool
    claimed: bool
    ended: bool
    ahead: str = ""

    @property
    def is_waiting(self) -> bool:
        """Its terminal event is still to come."""
        return not self.ended and (self.marked or self.claimed or bool(self.ahead))

    @property
    def is_owed_by_nobody(self) -> bool:
        return not (self.marked or self.claimed or self.ended or self.ahead)


@dataclass(frozen=True)
class Ending:
    """`done`: by this call, the terminal event is its own. `following` is to be handed to the queue."""

    done: bool
    following: AnswerJob | None = None


class Questions:
    """Each call raises Retryable when Redis does not answer."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._ask, self._take, self._end = map(redis.register_script, (ASK, TAKE, END))
        self._take_back, self._hurry, self._marks = map(redis.register_script, (TAKE_BACK, HURRY, MARKS))

    def ask(self, job: AnswerJob, event: Event) -> bool:
        """Puts the question into the line of its conversation: whether it is to be handed to the queue at once.

        The event is that of the conversation's write: it comes before all that is published of the answer.
        """
        question = Question.of(job)
        keys, args = append_arguments(question.domain, event, event.encode(), question.id)
        keys += [question.mark_key, question.line_key, question.terminal_key, revision_key(question.domain, event)]
        args += [question.id, json.dumps(to_message(job)), _milliseconds(OLDEST), LONGEST_LINE, REVISION_KEPT]
        with _told():
            place = self._ask(keys, args)
        if not place:
            raise Retryable("too many questions of this conversation wait for their answers")
        return bool(place == 1)

    def take_back(self, question: Question) -> Ending:
        """As if it had not been asked: no event is told. Not `done` for one that a worker has, or that is over."""
        keys = [question.mark_key, question.claim_key, question.terminal_key, question.line_key]
        with _told():
            marks = mark_key(question.domain)
            return _ending(self._take_back(keys, [question.id, marks, _milliseconds(HANDED_OVER_WITHIN)]))

    def hurry(self, questions: Sequence[Question]) -> None:
        """Their messages have left the queue: a worker is about to take them, or they are lost."""
        with _told():
            self._hurry([question.mark_key for question in questions], [_milliseconds(TAKEN_WITHIN)])

    def mark_again(self, question: Question) -> None:
        """Its message is in the queue, or goes back there, where it may stay for long."""
        with _told():
            self._redis.pexpire(question.mark_key, _milliseconds(OLDEST))

    def unmark(self, question: Question) -> None:
        """Its message is lost."""
        with _told():
            self._redis.delete(question.mark_key)

    def take(self, question: Question, owner: str) -> bool:
        """Whether the mark became a claim; False for a message that came twice, or too late."""
        keys = [question.mark_key, question.claim_key, question.terminal_key]
        with _told():
            return bool(self._take(keys, [owner, _milliseconds(CLAIMED)]))

    def end(self, question: Question, doc: dict[str, Any], by: By, owner: str = "") -> Ending:
        """Publishes the terminal event, if nobody did, and the question may be ended by this one.

        A call whose answer was lost may be repeated with the same `owner`.
        """
        owner = owner or uuid.uuid4().hex
        event = Event("CREATED", CHAT_EVENTS, question.id, doc)
        keys, args = append_arguments(question.domain, event, event.encode(), owner)
        keys += [question.claim_key, question.terminal_key, question.mark_key, question.line_key]
        args += [owner, by, _milliseconds(OLDEST), question.id, mark_key(question.domain), ENDED]
        args += [_milliseconds(HANDED_OVER_WITHIN)]
        with _told():
            return _ending(self._end(keys, args))

    def ages(self, ids: Sequence[tuple[str, str]]) -> list[float]:
        """Of many questions, by domain and id: the seconds since each was marked, 0 where a worker has it, infinity
        where nobody has."""
        keys = [key for named in ids for key in (mark_key(*named), claim_key(*named))]
        with _told():
            return [math.inf if left == -2 else _marked_for(left) for left in self._marks(keys)]

    def states(self, questions: Sequence[Question]) -> list[State]:
        """In two round trips at most."""
        with _told(), self._redis.pipeline(transaction=True) as pipe:
            for question in questions:
                pipe.pttl(question.mark_key)
                pipe.exists(question.claim_key)
                pipe.exists(question.terminal_key)
            rows = list(zip(*[iter(pipe.execute())] * 3, strict=True)) if questions else []
        states = [State(_marked_for(mark), mark > 0, bool(claimed), bool(ended)) for mark, claimed, ended in rows]
        behind = self._behind([q for q, state in zip(questions, states, strict=True) if state.is_owed_by_nobody])
        return [
            replace(state, ahead=behind.get(question, "")) for question, state in zip(questions, states, strict=True)
        ]

    def _behind(self, questions: Sequence[Question]) -> dict[Question, str]:
        """Those that stand behind another in their line, with the first one's id."""
        with _told(), self._redis.pipeline(transaction=False) as pipe:
            for question in questions:
                pipe.lrange(question.line_key, 0, -1)
            lines = pipe.execute() if questions else []
        ids = [[waiting.partition("\n")[0] for waiting in line] for line in lines]
        return {q: line[0] for q, line in zip(questions, ids, strict=True) if q.id in line[1:]}


def mark_key(domain: str, question_id: str = "") -> str:
    return f"ragcore:mark:{{{domain}}}:question:{question_id}"


def claim_key(domain: str, question_id: str) -> str:
    return f"ragcore:claim:{{{domain}}}:{question_id}"


def _marked_for(left: int) -> float:
    """By the milliseconds that the mark has left: none where it is soon over by itself."""
    return OLDEST - left / 1000 if left > _milliseconds(HANDED_OVER_WITHIN) else 0.0


def _ending(found: list[Any]) -> Ending:
    done, *following = found
    return Ending(bool(done), from_message(AnswerJob, json.loads(following[0])) if following else None)


def _told() -> AbstractContextManager[None]:
    return retryable(RedisError, "questions cannot be answered: Redis does not answer")


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
