"""Runs the calls of a completion side by side, and tells of each of them."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain, count

from ragcore.agent.tools import LONGEST_SHOWN, Json, Result, Tool, shown
from ragcore.agent.turn import Turn
from ragcore.chat.calls import Call
from ragcore.claims import Interrupted, Lost
from ragcore.errors import Conflict, Invalid, RagcoreError
from ragcore.grounded.way import Way

log = logging.getLogger(__name__)

MOST_TOLD = 16  # calls of a completion: of more, the LLM is told nothing
LONGEST_NAME = 64
BEYOND = "no more tools can be called for this message: answer from the results that are there"
FAILED = "it does not work at the moment"


@dataclass(frozen=True)
class Calling:
    way: Way
    turn: Turn
    tools: Mapping[str, Tool]

    def run(self, calls: Sequence[Call]) -> None:
        """Raises Lost, Interrupted, Unpublished."""
        calls = _named(calls[:MOST_TOLD], self.turn.called, self.turn.ids)
        running = calls[: self.turn.left]
        self.turn.called += len(calls)
        for call in calls:
            self._tell(call, "call", self._asked(call))
        self.way.may_search()
        with ThreadPoolExecutor(max(len(running), 1), "tool") as pool:
            results = list(pool.map(self._run, running))
        results += [self._told_error(call, BEYOND) for call in calls[len(running) :]]
        self.turn.add_calls(calls)
        for call, result in zip(calls, results, strict=True):
            self.turn.add_result(call, result)

    def _run(self, call: Call) -> Result:
        """A tool that fails is told to the LLM, as its result."""
        try:
            result = self._result(call)
        except (Lost, Interrupted):
            raise
        except (Invalid, Conflict) as error:
            return self._told_error(call, str(error))
        except Exception as error:  # noqa: BLE001  (the answer goes on without this result)
            self.way.claim.check()
            log.warning("%s: question %s: %s failed: %s", self.way.job.domain, self.way.job.question_id, call.name,
                        error, exc_info=not isinstance(error, RagcoreError))  # fmt: skip
            return self._told_error(call, FAILED)
        self._tell(call, "done", result.detail)
        return result

    def _result(self, call: Call) -> Result:
        self.way.claim.check()
        tool = self.tools.get(call.name)
        if tool is None:
            raise Invalid("there is no such tool")
        arguments = tool.checked(call.parsed())
        with self.turn.one_by_one if tool.one_by_one else nullcontext():
            result = tool.run(self.way, arguments)
        if tool.grounds:
            self.turn.supported = True
        return result

    def _told_error(self, call: Call, message: str) -> Result:
        detail = {"message": message[:LONGEST_SHOWN]}
        self._tell(call, "error", detail)
        return Result({"error": message}, detail)

    def _asked(self, call: Call) -> Json:
        """What a call is for, as far as it is understood."""
        try:
            return shown(self.tools[call.name].checked(call.parsed()))
        except (KeyError, Invalid):
            return {}

    def _tell(self, call: Call, status: str, detail: Json) -> None:
        tool = {"id": call.id, "name": call.name, "status": status, "detail": detail}
        self.way.stream.publish({"object": "tool", "tool": tool})


def _named(calls: Sequence[Call], before: int, seen: set[str]) -> list[Call]:
    """Each with an id that no other of the turn has: the LLM's own, if it gave one. Some begin again each time."""
    named = list[Call]()
    for n, call in enumerate(calls, start=before + 1):
        made = (f"call_{number}" for number in count(n))
        given = [call.id] if call.id and len(call.id) <= LONGEST_NAME else []
        call_id = next(name for name in chain(given, made) if name not in seen)
        seen.add(call_id)
        named.append(replace(call, id=call_id, name=call.name[:LONGEST_NAME]))
    return named
