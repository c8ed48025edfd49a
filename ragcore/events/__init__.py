"""Events: one history, one live channel, both in Redis.

Publishing appends the event to a history (a capped stream for each question, kept 15 minutes, and a short one
for each instance, for the rest) and publishes it on the instance's channel with its place in that history, in
one step. Who subscribes gets the live events, and reads what it missed from the histories.
"""

from ragcore.events.event import CHAT_EVENTS, Event, Published
from ragcore.events.fence import APPEND, Fence, append_arguments
from ragcore.events.history import History
from ragcore.events.publisher import Publisher, Unpublished
from ragcore.events.subscriber import Subject, Subscriber

__all__ = [
    "APPEND",
    "CHAT_EVENTS",
    "Event",
    "Fence",
    "History",
    "Published",
    "Publisher",
    "Subject",
    "Subscriber",
    "Unpublished",
    "append_arguments",
]
