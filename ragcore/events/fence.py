"""What publishing is made of: the step that appends and publishes, and the fence around the events of a question."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ragcore.events import history
from ragcore.events.event import Event

# Appends to the history and publishes, in one step, so that the place on the live channel is the one in the
# history. An event that is sent a second time, after an answer of Redis was lost, is looked for first. What a
# revision of a document says is published once, whoever sees it first.
# KEYS: history, active questions, channel.
# ARGV: text, question, tag, sent before (0, 1), seconds kept, length, subject.
APPEND = """
local function append()
  if ARGV[4] == '1' then
    for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1000)) do
      if entry[2][4] == ARGV[3] then return entry[1] end
    end
  end
  local place = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[6], '*', 'e', ARGV[1], 't', ARGV[3])
  redis.call('EXPIRE', KEYS[1], ARGV[5])
  if ARGV[2] ~= '' then
    local now = tonumber(string.match(place, '^%d+'))
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[5] * 1000)
    redis.call('ZADD', KEYS[2], now, ARGV[2])
    redis.call('EXPIRE', KEYS[2], ARGV[5])
  end
  redis.call('PUBLISH', KEYS[3], place .. ' ' .. ARGV[7] .. '\\n' .. ARGV[1])
  return place
end
local function append_once(revision, seconds)
  return redis.call('SET', revision, '1', 'NX', 'EX', seconds) and append()
end
"""


def append_arguments(
    domain: str, event: Event, text: str, tag: str, again: bool = False
) -> tuple[list[str], list[str | int]]:
    """The first keys and arguments of a script that begins with APPEND. `text` is the encoded event."""
    question = event.question
    keys = [history.history_key(domain, question), history.active_key(domain), history.channel(domain)]
    length = history.LENGTH if question else history.length_of_rest(text)
    return keys, [text, question, tag, int(again), history.KEPT, length, event.subject]


@dataclass
class Fence:
    """Whose events of a question are published: those of its claim's owner, until the question has its terminal event.

    `owner` has 32 characters. `on_close` is called, by any thread, when the question is not the owner's any more.
    """

    claim_key: str
    terminal_key: str
    owner: str
    milliseconds: int
    on_close: Callable[[], None] = lambda: None
    _closed: threading.Event = field(default_factory=threading.Event)

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def close(self) -> None:
        """More than once does no harm."""
        self._closed.set()
        self.on_close()
